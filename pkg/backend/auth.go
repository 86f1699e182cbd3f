package backend

import (
	"bytes"
	"fmt"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// sha256Plugin is caching_sha2_password's predecessor: the password itself, always.
const sha256Plugin = "sha256_password"

// sha256RequestKey asks for the public key; caching_sha2_password has another number for it.
const sha256RequestKey = 1

// maxRounds is more than a login takes: a switch, a key and the password.
const maxRounds = 10

func known(plugin string) bool {
	switch plugin {
	case wire.NativePlugin, wire.SHA2Plugin, wire.ClearPlugin, sha256Plugin:
		return true
	}
	return false
}

// firstResponse is what goes with the user's name, before the server asked for anything. It never is
// the password itself: the account may have another plugin.
func (c *Conn) firstResponse(plugin string, password []byte) []byte {
	switch plugin {
	case wire.NativePlugin:
		return wire.NativeResponse(password, c.nonce)
	case wire.SHA2Plugin:
		return wire.SHA2Response(password, c.nonce)
	}
	return nil
}

// authenticate goes on after the first response until the server is content.
func (c *Conn) authenticate(plugin string, password []byte) error {
	for range maxRounds {
		p, err := c.receive()
		if err != nil {
			return err
		}
		switch p[0] {
		case 0x00:
			var ok wire.OK
			if err := ok.Decode(p, c.caps); err != nil {
				return err
			}
			c.status = ok.Status
			return nil
		case 0xFE:
			plugin, err = c.switchPlugin(p, password)
		case 0x01:
			err = c.moreData(plugin, p, password)
		default:
			err = fmt.Errorf("%w: its packet in the login begins with 0x%02x", ErrNotMySQL, p[0])
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the login does not end", ErrNotMySQL)
}

// switchPlugin answers the server's wish for the account's plugin, and returns that.
func (c *Conn) switchPlugin(p, password []byte) (string, error) {
	if len(p) == 1 {
		return "", &hinted{
			fmt.Errorf("%w: the account has a password of before MySQL 4.1", ErrTooOld),
			"set its password again",
		}
	}
	var s wire.AuthSwitch
	if err := s.Decode(p); err != nil {
		return "", err
	}
	c.nonce = bytes.Clone(s.Data)
	switch s.Plugin {
	case wire.NativePlugin, wire.SHA2Plugin:
		return s.Plugin, c.send(c.firstResponse(s.Plugin, password))
	case wire.ClearPlugin:
		return s.Plugin, c.sendClear(password)
	case sha256Plugin:
		if c.secure || len(password) == 0 {
			return s.Plugin, c.send(wire.ClearResponse(password))
		}
		return s.Plugin, c.send([]byte{sha256RequestKey})
	}
	return "", &hinted{
		fmt.Errorf("%w %.64q", ErrPlugin, s.Plugin),
		"use an account with " + wire.SHA2Plugin + " or " + wire.NativePlugin,
	}
}

// moreData answers what a plugin says beyond the first response.
func (c *Conn) moreData(plugin string, p, password []byte) error {
	data := p[1:]
	switch {
	case plugin == sha256Plugin:
		return c.sendEncrypted(data, password)
	case plugin != wire.SHA2Plugin:
		return fmt.Errorf("%w: more data for %s", ErrNotMySQL, plugin)
	case len(data) == 1 && data[0] == wire.SHA2FastOK:
		return nil
	case len(data) == 1 && data[0] == wire.SHA2FullAuth && c.secure:
		return c.sendClear(password)
	case len(data) == 1 && data[0] == wire.SHA2FullAuth:
		return c.send([]byte{wire.SHA2RequestKey})
	}
	return c.sendEncrypted(data, password)
}

// sendClear sends the password itself, where nobody can listen in.
func (c *Conn) sendClear(password []byte) error {
	if !c.secure {
		return &hinted{ErrInsecure, "require TLS"}
	}
	return c.send(wire.ClearResponse(password))
}

// sendEncrypted sends the password encrypted with the server's key.
func (c *Conn) sendEncrypted(key, password []byte) error {
	pub, err := wire.ParsePublicKey(key)
	if err != nil {
		return &hinted{err, "connect with TLS"}
	}
	secret, err := wire.EncryptPassword(password, c.nonce, pub)
	if err != nil {
		return &hinted{err, "the password is too long for the server's key: connect with TLS"}
	}
	return c.send(secret)
}

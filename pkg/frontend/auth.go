package frontend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// claim is what a client comes with.
type claim struct {
	plugin   string
	response []byte
	made     bool // of the nonce that it was sent: else the client waits for a switch
}

// Advice to whom the password cannot be had from.
const (
	adviceAccount = "this client cannot send its password in full: give the account in [[user]], " +
		"or use a client with caching_sha2_password"
	adviceTLS = "the password is needed in full: use TLS, or give the account in [[user]]"
)

// authenticate finds out whether the client is who it says.
func (c *Conn) authenticate(ctx context.Context, l *Login, has claim) error {
	known, ok := c.o.Auth.Known(l.User)
	if !ok {
		known = Credential{}
	}
	plugins := c.caps.Has(wire.PluginAuth)
	switch {
	case has.plugin == wire.NativePlugin:
		// A response of its length is looked at even if the client was greeted with another plugin: those
		// that know no other make it all the same.
		if (has.made || len(has.response) > 0) && c.proven(known, has.response) {
			return nil
		}
		if has.made && len(has.response) == 0 {
			return c.full(ctx, l, known, nil)
		}
		if !plugins {
			return l.denied(true, adviceAccount)
		}
	case has.plugin == wire.ClearPlugin && c.secure && len(has.response) > 0:
		return c.full(ctx, l, known, wire.ParseClear(has.response))
	case has.plugin == wire.SHA2Plugin && has.made:
		return c.sha2(ctx, l, known, has.response)
	}
	response, err := c.switchTo(wire.SHA2Plugin)
	if err != nil {
		if left(err) { // its library has told it why
			return fmt.Errorf("%w: it closed when asked for caching_sha2_password: give the account in [[user]]: %w", ErrPlugin, err)
		}
		return err
	}
	return c.sha2(ctx, l, known, response)
}

// proven tells whether a response of mysql_native_password is right.
func (c *Conn) proven(known Credential, response []byte) bool {
	if len(response) == 0 {
		return known.Empty
	}
	return !known.Empty && wire.CheckNative(response, c.nonce[:], known.Native)
}

// switchTo makes the client begin again with a plugin, and returns its response.
func (c *Conn) switchTo(plugin string) ([]byte, error) {
	c.newNonce()
	m := wire.AuthSwitch{Plugin: plugin, Data: c.nonce[:]}
	if err := c.send(m.Append); err != nil {
		return nil, err
	}
	return c.next()
}

// sha2 goes on with the response of caching_sha2_password.
func (c *Conn) sha2(ctx context.Context, l *Login, known Credential, response []byte) error {
	if len(response) == 0 || len(response) == 1 && response[0] == 0 {
		return c.full(ctx, l, known, nil)
	}
	if wire.CheckSHA2(response, c.nonce[:], known.SHA2) {
		return c.more([]byte{wire.SHA2FastOK})
	}
	if !c.secure && c.o.Key == nil {
		return l.denied(true, adviceTLS)
	}
	if err := c.more([]byte{wire.SHA2FullAuth}); err != nil {
		return err
	}
	p, err := c.next()
	if err != nil {
		return fullError(err)
	}
	keyed := !c.secure
	if bytes.Equal(p, []byte{wire.SHA2RequestKey}) && c.o.Key != nil {
		keyed = true // some clients ask for it on a unix socket too
		if p, err = c.sendKey(); err != nil {
			return fullError(err)
		}
	}
	if !keyed {
		return c.full(ctx, l, known, wire.ParseClear(p))
	}
	password, err := wire.DecryptPassword(p, c.nonce[:], c.o.Key)
	if err != nil {
		r := l.denied(true, "")
		r.err = err
		return r
	}
	return c.full(ctx, l, known, password)
}

// fullError says what it means that a client closes when it is asked for its password.
func fullError(err error) error {
	if left(err) {
		return fmt.Errorf("%w: it closed when asked for it: let it use TLS or ask for the public key, or give the account in [[user]]: %w",
			ErrPlugin, err)
	}
	return err
}

// more sends a plugin's further data.
func (c *Conn) more(data []byte) error {
	m := wire.AuthMoreData{Data: data}
	return c.send(m.Append)
}

// sendKey answers the request for the public key, and returns the encrypted password.
func (c *Conn) sendKey() ([]byte, error) {
	text, err := wire.FormatPublicKey(&c.o.Key.PublicKey)
	if err != nil {
		return nil, err
	}
	if err := c.more(text); err != nil {
		return nil, err
	}
	return c.next()
}

// full judges a password that is there in full. One that is known to be right needs no server.
func (c *Conn) full(ctx context.Context, l *Login, known Credential, password []byte) error {
	l.Password, l.Full = Password(password), true
	if known.proves(password) {
		return nil
	}
	err := c.o.Auth.Verify(ctx, l)
	if err == nil {
		return nil
	}
	var s *wire.ServerError
	switch {
	case ctx.Err() != nil:
		return interrupted(ctx)
	case errors.As(err, &s):
		return &refusal{*s, err}
	}
	return unverified(err)
}

// ChangeUser answers COM_CHANGE_USER, whose payload is from ReadCommand: the client proves who it is anew,
// with a nonce of its own. As at Accept, the OK is the caller's to write. On an error the client
// was told, and disconnected: who may try again and again guesses passwords.
//
// An account that is known and has a client that names mysql_native_password is proven by that, so
// that old clients can be: who has an account can find out here which others are known.
func (c *Conn) ChangeUser(ctx context.Context, payload []byte) (*Login, error) {
	if c.err != nil {
		return nil, c.fail("change user of", ErrClosed)
	}
	l, user := &Login{}, c.user
	err := c.attempt(ctx, func(ctx context.Context) error { return c.change(ctx, l, payload) })
	var r *refusal
	switch {
	case err == nil:
		return l, nil
	case c.o.StaysWho && c.err == nil && errors.As(err, &r) && !errors.Is(r, ErrProtocol):
		c.user = user
		return nil, errors.Join(ErrDenied, err, c.send(r.say.Append))
	}
	return nil, c.refuse(err)
}

func (c *Conn) change(ctx context.Context, l *Login, payload []byte) error {
	var m wire.ChangeUser
	if err := m.Decode(payload, c.caps); err != nil {
		return badCommand(fmt.Errorf("%w: %w", ErrProtocol, err))
	}
	c.user = m.User
	*l = Login{
		User: m.User, Database: m.Database, HasDatabase: m.Database != "", Charset: m.Charset,
		Capabilities: c.caps, Attributes: slices.Clone(m.Attributes),
		Remote: c.remote, Secure: c.secure, TLS: c.TLS(),
	}
	if c.zip != nil {
		l.ZstdLevel = uint8(c.zip.level)
	}
	if !c.caps.Has(wire.PluginAuth) {
		return c.authenticate(ctx, l, claim{plugin: wire.NativePlugin, response: slices.Clone(m.AuthResponse), made: true})
	}
	known, ok := c.o.Auth.Known(l.User)
	switch {
	case m.AuthPlugin != wire.NativePlugin || !ok || known.Native == (wire.NativeHash{}):
		return c.authenticate(ctx, l, claim{}) // switches
	case len(m.AuthResponse) > 0: // MariaDB's library makes one, of the nonce before
		if c.proven(known, m.AuthResponse) {
			return nil
		}
		return c.authenticate(ctx, l, claim{})
	}
	response, err := c.switchTo(wire.NativePlugin) // MySQL's waits for that
	if err != nil {
		return err
	}
	if !c.proven(known, response) {
		return l.denied(len(response) > 0, "")
	}
	return nil
}

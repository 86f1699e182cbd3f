package config

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"strings"
)

// credentials finds the password by the way that the file names.
func (c *checker) credentials(table string, k *Credentials) {
	ways, way := 0, ""
	for _, key := range []string{"password", "password-file", "password-env"} {
		path := join(table, key)
		if !c.has(path) {
			continue
		}
		way = path
		if ways++; ways > 1 {
			c.errorAt(c.keyOf(path), "%s: there is a password already: keep one of password, password-file and password-env", key)
		}
	}
	switch {
	case ways > 1, ways == 0 && k.Password.IsSet(): // or it came by a flag
	case ways == 0:
		if table != "monitor" {
			c.errorAt(c.keyOf(table), "[[user]] needs password-file, password-env or password")
		} else if c.config.Monitor.User != "" {
			c.warnAt(c.keyOf("monitor.user"), "%s has no password: add password-file or password-env", c.config.Monitor.User)
		}
	case k.Password.IsSet():
		if c.options.Mode.Perm()&0o007 != 0 {
			c.errorAt(c.keyOf(join(table, "password")),
				"password: others may use this file: chmod o= it, or write password-file or password-env instead")
		}
	case k.PasswordFile == "" && k.PasswordEnv == "":
		if !c.failed[way] {
			c.errorAt(c.valueOf(way), "there is nothing in the quotes")
		}
	default:
		c.elsewhere(table, "password", k.PasswordFile, k.PasswordEnv, &k.Password)
	}
}

// elsewhere reads a secret that is in a file or in the environment.
func (c *checker) elsewhere(table, word, file, variable string, into *Secret) {
	switch {
	case file != "" && c.options.ReadFile != nil:
		c.secretFile(table, word, file, into)
	case variable != "" && c.options.Getenv != nil:
		key := word + "-env"
		text, set := c.options.Getenv(variable)
		if !set || text == "" {
			c.errorAt(c.valueOf(join(table, key)), "%s: the environment has no variable of that name, or it is empty", key)
		}
		*into = NewSecret(text)
	}
}

func (c *checker) secretFile(table, word, file string, into *Secret) {
	key := word + "-file"
	at := c.valueOf(join(table, key))
	data, err := c.options.ReadFile(file)
	if err != nil {
		var failed *fs.PathError // its path may be a password by mistake
		if errors.As(err, &failed) {
			err = failed.Err
		}
		c.errorAt(at, "%s: %s", key, err)
		return
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" || strings.ContainsAny(text, "\r\n\x00") {
		c.errorAt(at, "%s: that file does not hold a %s on its only line", key, word)
		return
	}
	*into = NewSecret(text)
}

// admin checks the address for operators.
func (c *checker) admin() {
	a := &c.config.Admin
	if c.has("admin") && !c.has("admin.address") {
		a.Address = DefaultAdmin
	}
	if a.Address != "" {
		if wrong := hostPort(a.Address); wrong != "" {
			c.errorAt(c.valueOf("admin.address"), "admin: %s", wrong)
		}
	}
	if a.TokenFile != "" && a.TokenEnv != "" {
		c.errorAt(c.keyOf("admin.token-env"), "token-env: there is a token already: keep one of token-file and token-env")
		return
	}
	c.elsewhere("admin", "token", a.TokenFile, a.TokenEnv, &a.token)
	if a.token.IsSet() && len(a.token.Reveal()) < minToken {
		c.errorAt(c.keyOf("admin"), "the token has less than %d characters: it could be guessed", minToken)
	}
	if host, _, err := net.SplitHostPort(a.Address); err == nil && !isLoopback(host) && a.TokenFile == "" && a.TokenEnv == "" && !a.token.IsSet() {
		c.errorAt(c.valueOf("admin.address"), "admin: others can reach it: add token-file or token-env, or listen on 127.0.0.1")
	}
}

const (
	// DefaultAdmin is where operators reach the proxy if the file has a table for them.
	DefaultAdmin = "127.0.0.1:6460"
	minToken     = 16
)

// isLoopback tells whether only this machine reaches a host.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

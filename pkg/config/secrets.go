package config

import (
	"errors"
	"io/fs"
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
	case k.PasswordFile != "" && c.options.ReadFile != nil:
		c.passwordFile(table, k)
	case k.PasswordEnv != "" && c.options.Getenv != nil:
		text, set := c.options.Getenv(k.PasswordEnv)
		if !set || text == "" {
			c.errorAt(c.valueOf(join(table, "password-env")), "password-env: the environment has no variable of that name, or it is empty")
		}
		k.Password = NewSecret(text)
	}
}

func (c *checker) passwordFile(table string, k *Credentials) {
	at := c.valueOf(join(table, "password-file"))
	data, err := c.options.ReadFile(k.PasswordFile)
	if err != nil {
		var failed *fs.PathError // its path may be a password by mistake
		if errors.As(err, &failed) {
			err = failed.Err
		}
		c.errorAt(at, "password-file: %s", err)
		return
	}
	text := strings.TrimRight(string(data), "\r\n")
	if text == "" || strings.ContainsAny(text, "\r\n\x00") {
		c.errorAt(at, "password-file: that file does not hold a password on its only line")
		return
	}
	k.Password = NewSecret(text)
}

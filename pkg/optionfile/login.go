package optionfile

import (
	"crypto/aes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

const (
	loginHeader = 4  // unused bytes at the start of a login path file
	loginKey    = 20 // bytes of key material after them
)

var (
	errLoginHeader  = errors.New("file is shorter than its key")
	errLoginCut     = errors.New("file ends inside it")
	errLoginLength  = errors.New("its length is no multiple of 16")
	errLoginPadding = errors.New("it does not decrypt")
)

// loginFile reads the groups and the login path of the login path file. Every
// client reads its usual groups there as well as the login path, and of
// entries with one name the later in the file wins, whatever its group is.
func (r *reader) loginFile(o Options) error {
	path := o.LoginFile
	if path == "" && o.Home != "" {
		path = filepath.Join(o.Home, ".mylogin.cnf")
	}
	if path == "" {
		return nil
	}
	data, err := readRegular(path, func(mode fs.FileMode) bool { return mode&0o177 == 0 })
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.LoginPath == "":
		return nil
	case errors.Is(err, errPermissions):
		r.warn("%s is ignored: only its owner may read and write it (mode 0600)", path)
		return nil
	case err != nil:
		r.warn("%v", err)
		return nil
	}
	lines, err := decodeLogin(data)
	if err != nil {
		r.warn("%s is ignored from there on: %v", path, err)
	}
	return r.loginLines(path, lines, o)
}

// loginLines reads the decrypted entries.
func (r *reader) loginLines(path string, lines []string, o Options) error {
	groups := append([]string(nil), r.groups...)
	if o.LoginPath != "" {
		groups = append(groups, o.LoginPath, o.LoginPath+o.GroupSuffix)
	}
	var group string
	inGroup, wanted, found := false, false, o.LoginPath == ""
	for i, s := range lines {
		l, err := parseLine(s, false)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		switch l.kind {
		case groupHeader:
			group, inGroup, wanted = l.text, true, isOneOf(l.text, groups)
			found = found || isOneOf(l.text, []string{o.LoginPath, o.LoginPath + o.GroupSuffix})
		case include, includeDir:
			r.warn("%s:%d: an include is not followed from here", path, i+1)
		case optionLine:
			if !inGroup {
				return fmt.Errorf("%s:%d: %w", path, i+1, errNoGroup)
			}
			if wanted {
				r.add(l, group, path, i+1)
			}
		}
	}
	if !found {
		r.warn("%s has no login path %q", path, o.LoginPath)
	}
	return nil
}

// decodeLogin decrypts a login path file: four unused bytes, twenty bytes of
// key, then for every line its length (little endian) and the line, padded
// and encrypted with AES-128 in ECB mode. With an error it returns the lines
// before the damage, which is what a client goes on with.
func decodeLogin(data []byte) ([]string, error) {
	if len(data) < loginHeader+loginKey {
		return nil, errLoginHeader
	}
	var key [16]byte
	for i, b := range data[loginHeader : loginHeader+loginKey] {
		key[i%len(key)] ^= b
	}
	data = data[loginHeader+loginKey:]
	var lines []string
	for len(data) > 0 {
		size, rest, err := loginEntry(data)
		if err == nil {
			var text string
			if text, err = decryptLine(key, rest[:size]); err == nil {
				lines = append(lines, text)
				data = rest[size:]
				continue
			}
		}
		return lines, fmt.Errorf("entry %d: %w", len(lines)+1, err)
	}
	return lines, nil
}

// loginEntry reads the length of an entry and checks it against what follows.
func loginEntry(data []byte) (size int, rest []byte, err error) {
	if len(data) < 4 {
		return 0, nil, errLoginCut
	}
	n := binary.LittleEndian.Uint32(data)
	rest = data[4:]
	if n == 0 || n%aes.BlockSize != 0 {
		return 0, nil, errLoginLength
	}
	if uint64(n) > uint64(len(rest)) {
		return 0, nil, errLoginCut
	}
	return int(n), rest, nil
}

// decryptLine decrypts whole blocks and takes off the PKCS #7 padding.
func decryptLine(key [16]byte, data []byte) (string, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return "", err
	}
	plain := make([]byte, len(data))
	for i := 0; i < len(data); i += aes.BlockSize {
		block.Decrypt(plain[i:], data[i:])
	}
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > aes.BlockSize {
		return "", errLoginPadding
	}
	for _, b := range plain[len(plain)-pad:] {
		if int(b) != pad {
			return "", errLoginPadding
		}
	}
	text := plain[:len(plain)-pad]
	for _, b := range text {
		if b == 0 {
			return "", errNulByte
		}
	}
	return string(text), nil
}

package frontend

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Layouts are from "The PROXY protocol", versions 1 and 2, haproxy.org/download/3.0/doc/proxy-protocol.txt.

const (
	proxyV2Signature = "\r\n\r\n\x00\r\nQUIT\n"
	proxyV1Prefix    = "PROXY "
	maxProxyV1       = 107     // with its end of line
	maxProxyHeader   = 4 << 10 // far more than any that is known to be sent
)

// proxyHeader reads the header, and takes the client's address from it.
func (c *Conn) proxyHeader() error {
	for need := 1; ; {
		if err := c.receive(need); err != nil {
			if left(err) && c.in.len() == 0 {
				return err // a probe
			}
			return fmt.Errorf("%w: %w", ErrProxyHeader, ended(err))
		}
		from, n, err := parseProxyHeader(c.in.bytes())
		switch {
		case err != nil:
			return err
		case n > 0:
			c.in.advance(n)
			if from != nil {
				c.remote = from
			}
			return nil
		}
		need = c.in.len() + 1
	}
}

// parseProxyHeader reads a header at the beginning of b. n is its length, or 0 if b does not hold all
// of it yet. The address is nil if the header says none, as for a health check of the proxy in front.
func parseProxyHeader(b []byte) (from net.Addr, n int, err error) {
	switch {
	case begins(b, proxyV1Prefix):
		return parseProxyV1(b)
	case begins(b, proxyV2Signature):
		return parseProxyV2(b)
	}
	return nil, 0, fmt.Errorf("%w: it begins with %.20q", ErrProxyHeader, b)
}

// begins tells whether b begins with prefix, as far as it goes.
func begins(b []byte, prefix string) bool {
	n := min(len(b), len(prefix))
	return string(b[:n]) == prefix[:n]
}

func parseProxyV1(b []byte) (from net.Addr, n int, err error) {
	end := bytes.IndexByte(b[:min(len(b), maxProxyV1)], '\n')
	if end < 0 {
		if len(b) >= maxProxyV1 {
			return nil, 0, fmt.Errorf("%w: no end of line in %d bytes", ErrProxyHeader, maxProxyV1)
		}
		return nil, 0, nil
	}
	bad := fmt.Errorf("%w: %.107q", ErrProxyHeader, b[:end+1])
	line, ok := strings.CutSuffix(string(b[:end]), "\r")
	if !ok {
		return nil, 0, bad
	}
	f := strings.Split(line, " ")
	if f[1] == "UNKNOWN" { // what follows is to be ignored
		return nil, end + 1, nil
	}
	if len(f) != 6 || f[1] != "TCP4" && f[1] != "TCP6" {
		return nil, 0, bad
	}
	source, err1 := netip.ParseAddrPort(hostPort(f[2], f[4]))
	to, err2 := netip.ParseAddrPort(hostPort(f[3], f[5]))
	four := f[1] == "TCP4"
	if err1 != nil || err2 != nil || source.Addr().Is4() != four || to.Addr().Is4() != four || source.Addr().Zone() != "" {
		return nil, 0, bad
	}
	return net.TCPAddrFromAddrPort(source), end + 1, nil
}

// hostPort is what netip parses. An IPv4 address in brackets would be none, and so is a host with them.
func hostPort(host, port string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]:" + port
	}
	return host + ":" + port
}

// Parts of version 2.
const (
	proxyV2Head   = 16
	proxyLocal    = 0x20 // version 2, the proxy's own connection
	proxyOfClient = 0x21

	familyUnspecified = 0x00
	familyTCP4        = 0x11
	familyTCP6        = 0x21
	familyUnix        = 0x31
)

func parseProxyV2(b []byte) (from net.Addr, n int, err error) {
	if len(b) < proxyV2Head {
		return nil, 0, nil
	}
	command, family := b[12], b[13]
	n = proxyV2Head + int(binary.BigEndian.Uint16(b[14:]))
	switch {
	case command != proxyLocal && command != proxyOfClient:
		return nil, 0, fmt.Errorf("%w: version and command %#x", ErrProxyHeader, command)
	case n > maxProxyHeader:
		return nil, 0, fmt.Errorf("%w: %d bytes", ErrProxyHeader, n)
	case len(b) < n:
		return nil, 0, nil
	case command == proxyLocal:
		return nil, n, nil
	}
	addresses := b[proxyV2Head:n]
	size := 0 // of one address
	switch family {
	case familyUnspecified:
		return nil, n, nil
	case familyUnix:
		if len(addresses) < 216 {
			return nil, 0, fmt.Errorf("%w: %d bytes of addresses for sockets", ErrProxyHeader, len(addresses))
		}
		return &net.UnixAddr{Net: "unix"}, n, nil // its name says nothing here
	case familyTCP4:
		size = 4
	case familyTCP6:
		size = 16
	default:
		return nil, 0, fmt.Errorf("%w: family %#x", ErrProxyHeader, family)
	}
	if len(addresses) < 2*size+4 {
		return nil, 0, fmt.Errorf("%w: %d bytes of addresses for family %#x", ErrProxyHeader, len(addresses), family)
	}
	ip, _ := netip.AddrFromSlice(addresses[:size])
	port := binary.BigEndian.Uint16(addresses[2*size:])
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, port)), n, nil
}

//go:build !linux

package proxy_test

import "net"

// writeCut writes b in pieces. Whether the other side sees them as such is up to the system.
func writeCut(c net.Conn, b []byte, cuts []int) error {
	from := 0
	for _, to := range append(cuts[:len(cuts):len(cuts)], len(b)) {
		if to = min(to, len(b)); to <= from {
			continue
		}
		if _, err := c.Write(b[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

package commands

import (
	"net"
)

// notifier is the socket that systemd listens on, $NOTIFY_SOCKET; "" if it does not. A name that
// begins with @ is of the abstract namespace, as it is for package net.
type notifier string

// send tells a state as sd_notify(3) has it. The datagram is in the socket's queue when it returns.
func (n notifier) send(state string) error {
	if n == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", string(n))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte(state))
	return err
}

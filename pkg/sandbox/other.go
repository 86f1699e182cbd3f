//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package sandbox

import (
	"os"
	"os/exec"
)

const supported = false

func flock(*os.File) error { return ErrUnsupported }

func ownGroup(*exec.Cmd)          {}
func ownSession(*exec.Cmd)        {}
func killGroup(int) error         { return ErrUnsupported }
func terminate(*os.Process) error { return ErrUnsupported }
func pause(*os.Process) error     { return ErrUnsupported }
func resume(*os.Process) error    { return ErrUnsupported }

package sandbox

import (
	"errors"
	"fmt"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// ErrUnsupported is returned on systems that cannot run a sandbox.
var ErrUnsupported = errors.New("a sandbox needs Linux, macOS or another Unix")

// Options describe a cluster. Only Flavor and CacheDir must be given.
type Options struct {
	Flavor flavor.Flavor

	// CacheDir keeps programs and templates of data directories between runs;
	// DefaultCacheDir is a good choice.
	CacheDir string
	Mirror   string       // see InstallOptions
	Progress func(string) // see InstallOptions

	// Dir is where the cluster's files go. It must not exist or be empty. If
	// it is "", a temporary folder is made. Its content is removed by Close.
	Dir string

	Replicas int // 0 means 2, less means none
	Sources  int // number of primaries, each of which every replica reads from; 0 means 1

	// NamedChannels gives the channels the names a, b, ... With more than one
	// source they have names anyway.
	NamedChannels bool

	// Delays[i] is how long replica i+1 holds transactions back, in whole
	// seconds. Replicas beyond its end have no delay.
	Delays []time.Duration

	GTIDOff  bool // replicate by file and position; MySQL has gtid_mode=OFF then
	SemiSync bool // a commit waits until a replica has it; on both sides

	PrimaryArgs []string // added to the arguments of each primary, such as "--max-connections=10"
	ReplicaArgs []string // added to the arguments of each replica
}

// maxServers keeps a slip of the finger from filling a machine.
const maxServers = 32

func (o Options) check() (Options, error) {
	switch {
	case !supported:
		return o, ErrUnsupported
	case o.Sources < 0:
		return o, fmt.Errorf("number of sources %d is negative", o.Sources)
	case o.Sources > maxServers || o.Replicas > maxServers:
		return o, fmt.Errorf("more than %d servers of one role", maxServers)
	}
	install, err := o.install().check()
	if err != nil {
		return o, err
	}
	o.CacheDir, o.Progress = install.CacheDir, install.Progress
	o.Sources = max(o.Sources, 1)
	if o.Replicas == 0 {
		o.Replicas = 2
	}
	o.Replicas = max(o.Replicas, 0)
	for _, d := range o.Delays {
		if d < 0 || d%time.Second != 0 {
			return o, fmt.Errorf("delay %s is not a whole number of seconds", d)
		}
	}
	if len(o.Delays) > o.Replicas {
		return o, fmt.Errorf("%d delays for %d replicas", len(o.Delays), o.Replicas)
	}
	return o, nil
}

func (o Options) install() InstallOptions {
	return InstallOptions{Flavor: o.Flavor, CacheDir: o.CacheDir, Mirror: o.Mirror, Progress: o.Progress}
}

// channel names the channel by which replicas read from the n-th source,
// counted from 0.
func (o Options) channel(n int) string {
	if o.Sources == 1 && !o.NamedChannels {
		return ""
	}
	if n < 26 {
		return string(rune('a' + n))
	}
	return fmt.Sprintf("source%d", n+1)
}

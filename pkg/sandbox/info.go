package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Files in a cluster's folder that other processes look for.
const (
	infoFile = "sandbox.json"
	lockFile = "sandbox.lock" // held while the owner lives, see owner.go
)

// Info describes a cluster in the form that `sandbox up` prints and that lies
// as sandbox.json in its folder. It holds passwords.
type Info struct {
	Dir       string       `json:"dir"`
	Flavor    string       `json:"flavor"`
	Version   string       `json:"version"`
	Servers   []ServerInfo `json:"servers"`
	ClientCnf string       `json:"client_cnf"` // option file for the primary
	CA        string       `json:"ca"`         // path of the CA's certificate
	KeeperPID int          `json:"keeper_pid"` // process that owns the servers
}

// ServerInfo describes one server of a cluster.
type ServerInfo struct {
	Name     string `json:"name"`
	Role     Role   `json:"role"`
	Address  string `json:"address"`
	Socket   string `json:"socket"`
	User     string `json:"user"`
	Password string `json:"password"`
	ServerID int    `json:"server_id"`

	// Alive and PID are filled in by Status only.
	Alive *bool `json:"alive,omitempty"`
	PID   int   `json:"pid,omitempty"`
}

// Info returns the cluster's description.
func (c *Cluster) Info() Info {
	info := Info{
		Dir: c.Dir, Flavor: c.Flavor.String(), Version: c.Version.String(),
		ClientCnf: c.ClientCnf, CA: c.CA, KeeperPID: os.Getpid(),
	}
	for _, s := range c.Servers {
		info.Servers = append(info.Servers, ServerInfo{
			Name: s.Name, Role: s.Role, Address: s.Address(), Socket: s.Socket,
			User: s.User, Password: s.Password, ServerID: s.ServerID,
		})
	}
	return info
}

// writeFiles writes an option file for each server, client.cnf and, as the
// last one, sandbox.json.
func (c *Cluster) writeFiles() error {
	for _, s := range c.Servers {
		if err := os.WriteFile(filepath.Join(c.Dir, s.Name+".cnf"), []byte(s.optionFile()), 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(c.ClientCnf, []byte(c.Primary().optionFile()), 0o600); err != nil {
		return err
	}
	text, err := json.MarshalIndent(c.Info(), "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(c.Dir, infoFile)
	if err := os.WriteFile(path+".tmp", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// optionFile returns the text by which the mysql client finds the server.
func (s *Server) optionFile() string {
	var b strings.Builder
	b.WriteString("[client]\n")
	for _, line := range [][2]string{
		{"host", s.Host},
		{"port", strconv.Itoa(s.Port)},
		{"socket", s.Socket},
		{"user", s.User},
		{"password", s.Password},
	} {
		fmt.Fprintf(&b, "%s=%s\n", line[0], optionValue(line[1]))
	}
	return b.String()
}

// optionValue quotes a value where the characters of a path would end it.
func optionValue(value string) string {
	if !strings.ContainsAny(value, "#'\"\\ \t") {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

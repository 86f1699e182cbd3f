package stage

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	_ "embed"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/child"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/frontend"
)

// What MySQL Router wants to know of servers is what MySQL Shell writes for a ReplicaSet; these are the parts of it
// that Router 9.7 reads. The files have words that stand in no Go file of this module.
var (
	//go:embed router/metadata.sql
	metadataSQL string
	//go:embed router/split.conf
	splitConf string
	//go:embed router/keyring.flag
	keyringFlag string
)

const (
	clusterID  = "00000000-0000-4000-8000-000000000001" // as in metadata.sql
	routerUser = "rwbench_router"
)

// RouterSplit starts MySQL Router where it sends reads to replicas, at its default of waiting for the session's own
// writes. Servers are reached where it is said.
func (s *Stage) RouterSplit(ctx context.Context, servers []Server) (Candidate, error) {
	c := Candidate{Name: "router-split", Host: "127.0.0.1"}
	if s.Cluster.Flavor != flavor.MySQL {
		return c, &Missing{c.Name, "MySQL Router splits on MySQL only"}
	}
	r, err := s.findRouter(ctx)
	if err != nil {
		return c, err
	}
	if c.Port, err = freePort(); err != nil {
		return c, err
	}
	if c.TLSPort, err = freePort(); err != nil {
		return c, err
	}
	dir := filepath.Join(s.Dir, c.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return c, err
	}
	password := rand.Text()
	if err := s.writeMetadata(ctx, servers, password); err != nil {
		return c, freeError(c.Name, err)
	}
	if err := s.writeRouterFiles(ctx, r, dir, password, servers); err != nil {
		return c, freeError(c.Name, err)
	}
	if err := s.meetAccount(ctx); err != nil {
		return c, freeError(c.Name, err)
	}
	text, err := splitConfig(r, dir, c)
	if err != nil {
		return c, err
	}
	p, c, err := s.runRouter(r, c, text)
	if err != nil {
		return c, err
	}
	db := s.Open(c)
	defer db.Close()
	return c, p.Poll(ctx, func() error { return db.PingContext(ctx) })
}

// splitConfig has two routes, since Router cannot speak TLS with servers if and only if the client does.
func splitConfig(r *router, dir string, c Candidate) (string, error) {
	t, err := template.New("split.conf").Parse(splitConf)
	if err != nil {
		return "", err
	}
	type route struct {
		Name, ServerTLS string
		Port            int
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{
		"Dir": dir, "Plugins": r.plugins, "User": routerUser,
		"Routes": []route{{"plain", "DISABLED", c.Port}, {"tls", "REQUIRED", c.TLSPort}},
	})
	return out.String(), err
}

// writeMetadata describes the servers as a ReplicaSet, on all of them.
func (s *Stage) writeMetadata(ctx context.Context, servers []Server, password string) error {
	statements := strings.Split(metadataSQL, ";\n")
	for i, one := range s.Cluster.Servers {
		uuid, err := s.uuid(ctx, i)
		if err != nil {
			return err
		}
		role := "SECONDARY"
		if one == s.Cluster.Primary() {
			role = "PRIMARY"
		}
		a := servers[i].Address
		statements = append(statements,
			fmt.Sprintf("INSERT INTO v2_instances VALUES (%d, '%s', '%s', '%s', '%s', '%s', NULL, '{}')", i+1, clusterID, a, uuid, a, a),
			fmt.Sprintf("INSERT INTO v2_ar_members VALUES (1, '%s', %d, '%s', '%s', '%s')", clusterID, i+1, a, uuid, role))
	}
	statements = append(statements,
		"CREATE USER "+routerUser+"@'%' IDENTIFIED BY '"+password+"'", "GRANT ALL ON mysql_innodb_cluster_metadata.* TO "+routerUser+"@'%'",
		"GRANT SELECT ON performance_schema.* TO "+routerUser+"@'%'", "GRANT REPLICATION CLIENT ON *.* TO "+routerUser+"@'%'")
	if err := s.Cluster.Primary().Exec(ctx, statements...); err != nil {
		return err
	}
	return s.Cluster.WaitReplicated(ctx)
}

func (s *Stage) uuid(ctx context.Context, server int) (uuid string, err error) {
	db, err := s.Cluster.Servers[server].Open()
	if err != nil {
		return "", err
	}
	defer db.Close()
	return uuid, db.QueryRowContext(ctx, "SELECT @@server_uuid").Scan(&uuid)
}

// writeRouterFiles makes what the configuration names: the password of Router's account in a keyring, where the
// servers are, and a certificate whose key is RSA, without which clients cannot send their passwords.
func (s *Stage) writeRouterFiles(ctx context.Context, r *router, dir, password string, servers []Server) error {
	keyring := append(r.keyring, "", strings.TrimSpace(keyringFlag), filepath.Join(dir, "keyring.key"), filepath.Join(dir, "keyring"))
	verb := len(r.keyring)
	for _, step := range []struct{ verb, more, input string }{{"init", "", ""}, {"set", routerUser + " password", password}} {
		keyring[verb] = step.verb
		p, err := child.Start(child.Options{Name: "mysqlrouter_keyring", Stdin: strings.NewReader(step.input)}, append(keyring, strings.Fields(step.more)...)...)
		if err != nil {
			return err
		}
		if _, err := p.Wait(ctx); err != nil {
			return err
		}
	}
	var urls []string
	for _, one := range servers {
		urls = append(urls, "mysql://"+one.Address)
	}
	state, err := json.Marshal(map[string]any{
		"version":        "1.1.0",
		"metadata-cache": map[string]any{"group-replication-id": clusterID, "view-id": 1, "cluster-metadata-servers": urls},
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "state.json"), state, 0o600); err != nil {
		return err
	}
	return s.writeRSACert(dir)
}

// writeRSACert also adds the certificate to what clients believe.
func (s *Stage) writeRSACert(dir string) error {
	made, err := frontend.SelfSigned()
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		return err
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate[0]})
	if err := os.WriteFile(filepath.Join(dir, "cert.pem"), cert, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600); err != nil {
		return err
	}
	believed := filepath.Join(s.TLSDir(), "cacert.pem")
	all, err := os.ReadFile(believed)
	if err != nil {
		return err
	}
	return os.WriteFile(believed, append(all, cert...), 0o600)
}

// meetAccount logs in to each server, which knows the password's hash from then on: a server that does not refuses
// Router without TLS.
func (s *Stage) meetAccount(ctx context.Context) error {
	for _, one := range s.Cluster.Servers {
		db := s.Open(Candidate{Host: one.Host, Port: one.Port})
		err := db.PingContext(ctx)
		_ = db.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

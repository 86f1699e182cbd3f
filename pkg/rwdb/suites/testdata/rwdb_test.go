package mysql_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
)

// server is where one can be reached, the primary first.
type server struct{ Address, Socket string }

// pools are what the tests of this process have opened.
type pools struct {
	cluster []server // none: the plain driver

	mu         sync.Mutex
	connectors []*rwdb.Connector
}

// report is what the process tells of itself when its tests have ended.
type report struct {
	Statements, OnReplicas, OnPrimary uint64
}

func TestMain(m *testing.M) {
	var p pools
	if text := os.Getenv("RWDB_SERVERS"); text != "" {
		if err := json.Unmarshal([]byte(text), &p.cluster); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	mysql.OpenPool, mysql.PoolConnector = p.open, p.connector
	code := m.Run()
	if file := os.Getenv("RWDB_REPORT"); file != "" {
		text, err := json.Marshal(p.report())
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(code)
}

func (p *pools) report() report {
	p.mu.Lock()
	defer p.mu.Unlock()
	var r report
	for _, c := range p.connectors {
		st := c.Stats()
		r.Statements += st.Statements
		r.OnReplicas += st.ReadsOnReplicas
		r.OnPrimary += st.ReadsOnPrimary
	}
	return r
}

// open is sql.Open. The text of the DSN stays as it is but for the address.
func (p *pools) open(name, dsn string) (*sql.DB, error) {
	if p.cluster == nil {
		return sql.Open(name, dsn)
	}
	if _, err := mysql.ParseDSN(dsn); err != nil {
		return nil, err // rwdb has a text of its own for it, without the DSN
	}
	servers := []rwdb.Server{{DSN: dsn}}
	for _, replica := range p.cluster[1:] {
		own := strings.Replace(dsn, "("+p.cluster[0].Address+")", "("+replica.Address+")", 1)
		own = strings.Replace(own, "("+p.cluster[0].Socket+")", "("+replica.Socket+")", 1)
		if own != dsn {
			servers = append(servers, rwdb.Server{DSN: own})
		}
	}
	c, err := p.new(servers)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// connector is mysql.NewConnector.
func (p *pools) connector(config *mysql.Config) (driver.Connector, error) {
	if p.cluster == nil {
		return mysql.NewConnector(config)
	}
	servers := []rwdb.Server{{Config: config}}
	for _, replica := range p.cluster[1:] {
		if config.Addr == p.cluster[0].Address {
			own := config.Clone()
			own.Addr = replica.Address
			servers = append(servers, rwdb.Server{Config: own})
		}
	}
	return p.new(servers)
}

func (p *pools) new(servers []rwdb.Server) (*rwdb.Connector, error) {
	c, err := rwdb.New(rwdb.Options{Servers: servers})
	if err == nil {
		p.mu.Lock()
		p.connectors = append(p.connectors, c)
		p.mu.Unlock()
	}
	return c, err
}

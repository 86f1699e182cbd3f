package commands

import (
	"github.com/mysqlrw/mysqlrw/pkg/admin"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
)

// openAdmin opens the address for operators, if there is to be one.
func (s *serving) openAdmin() error {
	conf := s.config.Load()
	if conf.Admin.Address == "" {
		return nil
	}
	one, err := admin.New(admin.Options{Address: conf.Admin.Address, Proxy: s.proxy, Control: s, Version: version(), Log: s.log})
	if err != nil {
		return err
	}
	s.admin.Store(one)
	s.log.Info("admin", "address", "http://"+one.Address())
	return nil
}

// serveAdmin serves operators until end is called, which waits for it.
func (s *serving) serveAdmin() (end func()) {
	one := s.admin.Load()
	if one == nil {
		return func() {}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		one.Run()
	}()
	return func() {
		one.Close()
		<-ended
	}
}

// happened passes on what happens to a server.
func (s *serving) happened(e topology.Event) {
	if one := s.admin.Load(); one != nil {
		one.Event(e)
	}
}

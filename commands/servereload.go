package commands

import (
	"errors"

	"github.com/mysqlrw/mysqlrw/pkg/config"
)

// reload goes over to what the file says now, or stays with what there is.
func (s *serving) reload() {
	if s.source.file == "" {
		s.log.Warn("nothing to reload: there is no --config")
		return
	}
	if s.isReady {
		s.tellSystemd(reloading())
		defer s.tellSystemd("READY=1")
	}
	loaded, warnings, err := s.source.load()
	s.warn(warnings)
	if err != nil {
		s.refuse(err)
		return
	}
	changes := config.Diff(s.config, loaded)
	next := config.Reloadable(s.config, loaded)
	options, err := s.optionsFor(next)
	if err == nil {
		err = s.proxy.Reload(options)
	}
	if err != nil {
		s.refuse(err)
		return
	}
	s.config, s.options = next, options
	s.level.Set(logLevel(next.Log.Level))
	done := 0
	for _, c := range changes {
		if c.Effect == config.Restart {
			s.log.Warn("not changed: that takes a restart", "key", c.Key, "is", c.Old, "to be", c.New)
			continue
		}
		done++
		s.log.Info("changed", "key", c.Key, "from", c.Old, "to", c.New, "effect", string(c.Effect))
	}
	s.log.Info("reloaded", "changes", done)
}

// refuse says why a configuration is not taken.
func (s *serving) refuse(err error) {
	var problems config.Errors
	if !errors.As(err, &problems) {
		problems = config.Errors{{Message: err.Error()}}
	}
	for _, p := range problems {
		s.log.Error("configuration", "problem", p.String())
	}
	s.log.Error("not reloaded: the configuration stays as it was")
}

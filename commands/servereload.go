package commands

import (
	"errors"
	"slices"

	"github.com/mysqlrw/mysqlrw/pkg/config"
)

// reload goes over to what the file says now, or stays with what there is.
func (s *serving) reload() {
	if s.source.file == "" {
		s.log.Warn("nothing to reload: there is no --config")
		return
	}
	if s.isReady.Load() {
		s.tellSystemd(reloading())
		defer s.tellSystemd("READY=1")
	}
	_, _ = s.Change(nil, nil, false) // which is logged
}

// Change is for admin.Control.
func (s *serving) Change(set []config.Setting, unset []string, applyNow bool) ([]config.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	settings, err := settingsAfter(s.settings, set, unset)
	if err != nil {
		return nil, err
	}
	loaded, warnings, err := s.source.load(settings)
	s.warn(warnings)
	if err != nil {
		return nil, s.refuse(err)
	}
	before := s.config.Load()
	changes := config.Diff(before, loaded)
	next := config.Reloadable(before, loaded)
	options, err := s.optionsFor(next)
	if err != nil {
		return nil, s.refuse(err)
	}
	if options.Applied = s.options.Applied; applyNow {
		options.Applied++
	}
	if err := s.proxy.Reload(options); err != nil {
		return nil, s.refuse(err)
	}
	s.config.Store(next)
	s.options, s.settings = options, settings
	s.level.Set(logLevel(next.Log.Level))
	done := 0
	for i := range changes {
		c := &changes[i]
		if c.Effect == config.Restart {
			s.log.Warn("not changed: that takes a restart", "key", c.Key, "is", c.Old, "to be", c.New)
			continue
		}
		if done++; applyNow {
			c.Effect = config.Now
		}
		s.log.Info("changed", "key", c.Key, "from", c.Old, "to", c.New, "effect", string(c.Effect))
	}
	s.log.Info("reloaded", "changes", done)
	return changes, nil
}

// settingsAfter returns what operators have set, after a change.
func settingsAfter(now, set []config.Setting, unset []string) ([]config.Setting, error) {
	next := slices.Clone(now)
	without := func(key string) bool {
		before := len(next)
		next = slices.DeleteFunc(next, func(one config.Setting) bool { return one.Key == key })
		return len(next) < before
	}
	for _, key := range unset {
		if !without(key) {
			return nil, config.Errors{{Message: key + ": nobody has set it"}}
		}
	}
	for _, one := range set {
		without(one.Key)
		next = append(next, one)
	}
	return next, nil
}

// refuse says why a configuration is not taken.
func (s *serving) refuse(err error) error {
	var problems config.Errors
	if !errors.As(err, &problems) {
		problems = config.Errors{{Message: err.Error()}}
	}
	for _, p := range problems {
		s.log.Error("configuration", "problem", p.String())
	}
	s.log.Error("not reloaded: the configuration stays as it was")
	return problems
}

// Config is for admin.Control.
func (s *serving) Config() *config.Config { return s.config.Load() }

// Settings is for admin.Control.
func (s *serving) Settings() []config.Setting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.settings)
}

// Ready is for admin.Control.
func (s *serving) Ready() string {
	switch {
	case s.ending.Load():
		return "it is shutting down"
	case !s.isReady.Load():
		return "it has not been ready yet: no primary was known"
	case s.primary() == "":
		return "no primary is known: writes wait for one"
	}
	return ""
}

package admin

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/config"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
)

// WeightChange is the body of a change of weights. What is left out stays.
type WeightChange struct {
	Weight        *int `json:"weight"`         // as a replica
	PrimaryWeight *int `json:"primary_weight"` // as the primary
}

// SetChange is the body of a change of the configuration.
type SetChange struct {
	Set   map[string]string `json:"set"`   // by key, such as "policy.session-timeout"
	Unset []string          `json:"unset"` // keys that go by the file again
	// ApplyNow has sessions that are there follow as soon as nothing ties them to a server; otherwise those that
	// begin later do.
	ApplyNow bool `json:"apply_now"`
}

// ConfigChange is one value that became another one.
type ConfigChange struct {
	Key string `json:"key"`
	Old string `json:"old"`
	New string `json:"new"`
	// Effect is "now", "session" for sessions that begin later, or "restart" for what was not changed because
	// it takes that.
	Effect string `json:"effect"`
}

// changed answers with a server as it is now.
func (s *Server) changed(w http.ResponseWriter, name string, err error) {
	if err != nil {
		fail(w, http.StatusUnprocessableEntity, name+": "+err.Error())
		return
	}
	s.events.poke()
	if one := s.find(w, name); one != nil {
		send(w, http.StatusOK, one)
	}
}

func (s *Server) setWeight(w http.ResponseWriter, r *http.Request) {
	one := s.find(w, r.PathValue("name"))
	var c WeightChange
	if one == nil || !take(w, r, &c) {
		return
	}
	if c.Weight == nil && c.PrimaryWeight == nil {
		fail(w, http.StatusBadRequest, "give weight, primary_weight or both")
		return
	}
	next := proxy.Weights{Replica: one.ReplicaWeight, Primary: one.PrimaryWeight}
	if c.Weight != nil {
		next.Replica = *c.Weight
	}
	if c.PrimaryWeight != nil {
		next.Primary = *c.PrimaryWeight
	}
	s.changed(w, one.Name, s.o.Proxy.SetWeights(one.Name, next))
}

func (s *Server) drain(w http.ResponseWriter, r *http.Request) {
	one := s.find(w, r.PathValue("name"))
	if one == nil {
		return
	}
	if one.Role == "primary" {
		fail(w, http.StatusConflict, one.Name+" is the primary, which writes go to: make another server the primary first")
		return
	}
	s.changed(w, one.Name, s.o.Proxy.SetWeights(one.Name, proxy.Weights{Primary: one.PrimaryWeight}))
}

func (s *Server) resume(w http.ResponseWriter, r *http.Request) {
	if one := s.find(w, r.PathValue("name")); one != nil {
		s.changed(w, one.Name, s.o.Proxy.ResetWeights(one.Name))
	}
}

func (s *Server) kill(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil {
		fail(w, http.StatusBadRequest, "a session has a number, as ctl sessions shows it")
		return
	}
	err = s.o.Proxy.Kill(r.Context(), id, r.URL.Query().Get("query") == "true")
	switch {
	case errors.Is(err, proxy.ErrNoSession):
		fail(w, http.StatusNotFound, "there is no session "+strconv.FormatUint(id, 10))
	case err != nil:
		fail(w, http.StatusBadGateway, err.Error())
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) reload(w http.ResponseWriter, _ *http.Request) { s.change(w, nil, nil, false) }

func (s *Server) set(w http.ResponseWriter, r *http.Request) {
	var c SetChange
	if !take(w, r, &c) {
		return
	}
	var set []config.Setting
	for key, value := range c.Set {
		set = append(set, config.Setting{Key: key, Value: value})
	}
	slices.SortFunc(set, func(a, b config.Setting) int { return strings.Compare(a.Key, b.Key) })
	s.change(w, set, c.Unset, c.ApplyNow)
}

func (s *Server) change(w http.ResponseWriter, set []config.Setting, unset []string, applyNow bool) {
	changes, err := s.o.Control.Change(set, unset, applyNow)
	if err != nil {
		failed(w, err)
		return
	}
	s.events.poke()
	all := []ConfigChange{}
	for _, c := range changes {
		all = append(all, ConfigChange{c.Key, c.Old, c.New, string(c.Effect)})
	}
	send(w, http.StatusOK, all)
}

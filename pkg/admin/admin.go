package admin

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/config"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
)

// Control is the process around the proxy: what configured it. All methods may be called at any time.
type Control interface {
	// Config returns what is in force, which is not to be changed.
	Config() *config.Config
	// Settings returns the values that operators have set over the file's.
	Settings() []config.Setting
	// Change sets values over the file's and takes others back, and reads the file again; it is all or
	// nothing. applyNow has sessions that are there follow. The error is of type config.Errors where the
	// file or a value is wrong.
	Change(set []config.Setting, unset []string, applyNow bool) ([]config.Change, error)
	// Ready says why the proxy does not serve as it should, "" if it does.
	Ready() string
}

// Options are what a Server is told.
type Options struct {
	Address string
	Proxy   *proxy.Proxy
	Control Control
	Version string
	Log     *slog.Logger // nil drops it
	Now     func() time.Time
}

// Server serves one address. Make one with New, then Run.
type Server struct {
	o       Options
	socket  net.Listener
	http    *http.Server
	started time.Time
	private bool // only this machine reaches the address
	events  hub
	past    past
	ctx     context.Context
	stop    context.CancelFunc
}

// New opens the address. Run must follow.
func New(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	socket, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	s := &Server{o: o, socket: socket, started: o.Now()}
	s.ctx, s.stop = context.WithCancel(context.Background())
	if at, err := netip.ParseAddrPort(socket.Addr().String()); err == nil {
		s.private = at.Addr().IsLoopback()
	}
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return s.ctx },
	}
	return s, nil
}

// Address returns where the server listens.
func (s *Server) Address() string { return s.socket.Addr().String() }

// Run serves until Close, and takes samples.
func (s *Server) Run() {
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		s.sample()
	}()
	if err := s.http.Serve(s.socket); !errors.Is(err, http.ErrServerClosed) {
		s.o.Log.Error("admin", "error", err)
	}
	s.stop()
	<-sampled
}

// Close ends Run, and every request: the page notices and comes back when there is a proxy again.
func (s *Server) Close() {
	s.stop()
	_ = s.http.Close()
}

// Event tells the page what happened to a server. It does not wait.
func (s *Server) Event(e topology.Event) { s.events.happened(e) }

// access is what a route takes.
type access uint8

const (
	open    access = iota // nothing: for probes and scrapers
	looking               // the token where others reach the address
	changing
)

// handler puts all routes together.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.endpoints() {
		mux.Handle(r.method+" "+r.path, s.guard(r.access, r.serve))
	}
	mux.Handle("GET /", s.guard(looking, s.page))
	return mux
}

// endpoint is one thing that can be asked.
type endpoint struct {
	method, path string
	access       access
	serve        http.HandlerFunc
	summary      string
	takes, gives any // of the bodies, for the description; nil is none
}

func (s *Server) endpoints() []endpoint {
	all := []endpoint{
		{"GET", "/metrics", open, s.metrics().ServeHTTP, "Metrics in the format of Prometheus.", nil, nil},
		{"GET", "/healthz", open, s.healthy, "200 as long as the process answers.", nil, nil},
		{"GET", "/readyz", open, s.ready, "200 if clients are served and a primary is known, else 503 and why.", nil, nil},
		{"GET", "/api/v1/status", looking, give(s.Status), "The proxy as a whole.", nil, Status{}},
		{"GET", "/api/v1/servers", looking, give(s.Servers), "The servers.", nil, []ServerState{}},
		{"GET", "/api/v1/servers/{name}/busy", looking, s.busy, "The sessions that a server is still needed for.", nil, []SessionState{}},
		{"GET", "/api/v1/sessions", looking, s.sessions, "The clients, those that came first at first; ?limit=, ?user=, ?server=.", nil, []SessionState{}},
		{"GET", "/api/v1/routes", looking, give(s.Routes), "Where statements ran, and why.", nil, RouteState{}},
		{"GET", "/api/v1/config", looking, give(s.Config), "The configuration in force, without secrets.", nil, []ConfigValue{}},
		{"GET", "/api/v1/history", looking, give(s.History), "Samples of the last five minutes, one a second.", nil, []Sample{}},
		{"GET", "/api/v1/events", looking, s.stream, "Server-sent events: state each second and after every change, event for what happens to a server.", nil, nil},
		{"GET", "/api/v1/openapi.json", looking, give(func() any { return s.openAPI() }), "This description.", nil, nil},
		{"PUT", "/api/v1/servers/{name}/weight", changing, s.setWeight, "Gives a server other shares of reads, until resume.", WeightChange{}, ServerState{}},
		{"POST", "/api/v1/servers/{name}/drain", changing, s.drain, "Takes a replica out of reads: weight 0.", nil, ServerState{}},
		{"POST", "/api/v1/servers/{name}/resume", changing, s.resume, "Gives a server the weights of the configuration again.", nil, ServerState{}},
		{"POST", "/api/v1/sessions/{id}/kill", changing, s.kill, "Ends a client, or with ?query=true its statement only.", nil, nil},
		{"POST", "/api/v1/reload", changing, s.reload, "Reads the configuration again, all of it or nothing.", nil, []ConfigChange{}},
		{"PATCH", "/api/v1/config", changing, s.set, "Sets values over those of the file, until the process ends or they are taken back.", SetChange{}, []ConfigChange{}},
	}
	if s.o.Control.Config().Admin.Pprof == "on" {
		all = append(all,
			endpoint{"GET", "/debug/pprof/", changing, pprof.Index, "Profiles of the process.", nil, nil},
			endpoint{"GET", "/debug/pprof/profile", changing, pprof.Profile, "A CPU profile.", nil, nil},
			endpoint{"GET", "/debug/pprof/trace", changing, pprof.Trace, "An execution trace.", nil, nil},
		)
	}
	return all
}

// maxBody is far over any change.
const maxBody = 64 << 10

// guard lets through who may.
func (s *Server) guard(need access, serve http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		if s.private && !isMachine(r.Host) {
			fail(w, http.StatusForbidden, "the name "+quoted(r.Host)+" is not this machine's: use 127.0.0.1 or localhost")
			return
		}
		if need == changing || need == looking && !s.private && !isPage(r.URL.Path) {
			if why := s.unknown(r); why != "" {
				h.Set("WWW-Authenticate", `Bearer realm="mysqlrw"`)
				fail(w, http.StatusUnauthorized, why)
				return
			}
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		serve(w, r)
	})
}

// isPage tells whether a path is a part of the page, which has nothing of this proxy in it.
func isPage(path string) bool {
	return !strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/debug/")
}

// unknown says why a caller has not the token.
func (s *Server) unknown(r *http.Request) string {
	token := s.o.Control.Config().Admin.Token()
	if !token.IsSet() {
		return "there is no token, so nobody may: set token-file or token-env in [admin]"
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return "the token is missing: send it as Authorization: Bearer TOKEN"
	}
	if subtle.ConstantTimeCompare([]byte(given), []byte(token.Reveal())) != 1 {
		return "the token is another one"
	}
	return ""
}

// isMachine tells whether a Host header names this machine by what no name server can give away.
func isMachine(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil && ip.IsLoopback()
}

package proxy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// authenticator proves the password of one client.
type authenticator struct{ s *session }

// Known is for package frontend.
func (a *authenticator) Known(user string) (frontend.Credential, bool) {
	if known := a.s.p.accounts.find(user); known != nil {
		return known.known, true
	}
	return frontend.Credential{}, false
}

// Verify logs in to a server, and leaves the connection in the pool: the client will need it.
func (a *authenticator) Verify(ctx context.Context, login *frontend.Login) error {
	one := newAccount(login.User, string(login.Password))
	if err := a.s.prove(ctx, one, login); err != nil {
		return err
	}
	a.s.p.accounts.learn(one)
	return nil
}

// prove logs in to the primary, or to any server if there is none, with a connection of its own: one
// of the pool proves nothing of now. The connection is left in the pool.
func (s *session) prove(ctx context.Context, one *account, login *frontend.Login) error {
	s.aside()
	s.wants(login)
	err := errors.New("no server can be reached")
	s.cluster.fill(&s.snap, s.p.now())
	for _, i := range s.cluster.primaryFirst() {
		if s.policy.Endpoint == route.ReadOnly && s.snap.Servers[i].Role != route.Replica {
			continue
		}
		d := s.cluster.servers[i].dialing
		pool := d.pool
		h, e := pool.AcquireNew(inSchema(ctx, login.Database), d.key(one, s))
		if e != nil {
			var refused *wire.ServerError
			if errors.As(e, &refused) && refused.Code == abortsNew {
				one.proven(time.Time{}, false)
				return nil
			}
			if err = e; errors.As(e, &refused) && !tooMany(e) {
				return e
			}
			continue
		}
		at, expired, needsTLS := s.p.now(), h.Member.expired != nil, false
		if !s.p.conf.Load().Unshared { // else mayHave asks
			needsTLS, e = h.Member.needsTLS(ctx)
		}
		pool.Release(h, 0, nil, at)
		if e != nil {
			return e
		}
		if expired { // a client that cannot set another one is not let in, so each is to be asked for
			at = time.Time{}
		}
		one.proven(at, needsTLS)
		return nil
	}
	return err
}

// abortsNew is the number of the error that a server has for the first statement of a connection whose
// init_connect failed. The login went well.
const abortsNew = 1184

// provenLately proves the password of an account again if the last proof is old, and refuses what
// the account does not allow. Of a crowd that logs in at the same time one does it.
func (s *session) provenLately(login *frontend.Login) error {
	if s.p.conf.Load().Unshared {
		return nil // its own login proves it
	}
	if err := s.proveAgain(login); err != nil {
		gone := s.account
		s.p.accounts.forget(gone)
		for _, one := range s.cluster.servers {
			one.dialing.pool.Forget(func(k key) bool { return k.account == gone })
		}
		return err
	}
	if _, needsTLS := s.account.proof(); needsTLS && !login.Secure {
		return insecure(s.user)
	}
	return nil
}

// insecure is the refusal of a client without the TLS that its account requires.
func insecure(user string) error {
	return &wire.ServerError{Code: 1045, State: "28000", Message: fmt.Sprintf("Access denied for user '%s': the account requires TLS", user)}
}

// proveAgain returns a server's refusal. Where no server can be reached, what was true lately has to
// do, for another moment.
func (s *session) proveAgain(login *frontend.Login) error {
	limit := s.p.conf.Load().proveAgain()
	old := func() (is, never bool) {
		at, _ := s.account.proof()
		return s.p.now().Sub(at) > limit, at.IsZero()
	}
	is, never := old()
	switch {
	case !is:
		return nil
	case s.account.proving.TryLock():
	case never:
		s.aside() // who has it waits for a server, over a connection that this loop may have to look after
		s.account.proving.Lock()
	default:
		return nil
	}
	defer s.account.proving.Unlock()
	if is, _ = old(); !is {
		return nil
	}
	err := s.prove(s.ctx, s.account, login)
	var refused *wire.ServerError
	if errors.As(err, &refused) && (never || !tooMany(err)) {
		return err
	}
	if err != nil && !never {
		_, needsTLS := s.account.proof()
		s.account.proven(s.p.now().Add(time.Second-limit), needsTLS)
	}
	return nil
}

// needsTLS asks whether the account may log in over TLS only. If the proxy's own connection has none,
// or the client's, the server itself has answered that.
func (l *link) needsTLS(ctx context.Context) (bool, error) {
	if !l.conn.Secure() || l.from.TLSAsClient {
		return false, nil
	}
	r, err := l.conn.Query(ctx, "SHOW CREATE USER CURRENT_USER()")
	if err != nil {
		var refused *wire.ServerError
		if errors.As(err, &refused) {
			return false, nil // an old server, or an account that may not ask for itself
		}
		return false, err
	}
	return requiresTLS(first(r)), nil
}

// requiresTLS tells whether a CREATE USER has REQUIRE SSL, X509 or more.
func requiresTLS(create string) bool {
	_, behind, found := strings.Cut(create, " REQUIRE ")
	return found && !strings.HasPrefix(behind, "NONE")
}

package proxy

import (
	"container/list"
	"sync"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// account is one user with one password. A password that changed is another account, so that its
// connections are others too. What stands above the mutexes is fixed.
type account struct {
	user     string
	password string
	known    frontend.Credential

	proving  sync.Mutex // has whoever proves the password
	mu       sync.Mutex
	provenAt time.Time // when a server accepted the password last; zero if none has
	needsTLS bool
	schemas  map[string]bool // which the account was seen to be able to select
}

// proven notes that a server has accepted the password.
func (a *account) proven(at time.Time, needsTLS bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.provenAt, a.needsTLS = at, needsTLS
}

// doubt makes the next login prove the password again.
func (a *account) doubt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.provenAt, a.schemas = time.Time{}, nil
}

// proof returns what is known of the account's last proof.
func (a *account) proof() (at time.Time, needsTLS bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.provenAt, a.needsTLS
}

// maxSchemas bounds account.schemas.
const maxSchemas = 1000

func newAccount(user, password string) *account {
	return &account{user: user, password: password, known: frontend.Credential{
		Native: wire.HashNative([]byte(password)), SHA2: wire.HashSHA2([]byte(password)), Empty: password == "",
	}}
}

func (a *account) hasSchema(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.schemas[name]
}

func (a *account) noteSchema(name string, there bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !there:
		delete(a.schemas, name)
	case len(a.schemas) < maxSchemas:
		if a.schemas == nil {
			a.schemas = map[string]bool{}
		}
		a.schemas[name] = true
	}
}

// accounts are the users whose password is known: from the configuration, or since a server
// accepted it. They are in memory only. Of learned ones the oldest are forgotten when they are many.
type accounts struct {
	mu      sync.Mutex
	given   map[string]*account
	learned map[string]*list.Element // of *account
	order   list.List                // the one used last in front
}

// maxLearned bounds the learned accounts.
const maxLearned = 10_000

func (a *accounts) setGiven(all []Account) {
	given := make(map[string]*account, len(all))
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range all {
		if old := a.given[one.Name]; old != nil && old.password == one.Password {
			given[one.Name] = old
			continue
		}
		given[one.Name] = newAccount(one.Name, one.Password)
	}
	a.given = given
}

// find returns the account of a user, nil if it is not known. What was learned comes first: it was
// proven.
func (a *accounts) find(user string) *account {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.learned[user]; e != nil {
		a.order.MoveToFront(e)
		return e.Value.(*account)
	}
	return a.given[user]
}

// learn notes a password that a server has accepted.
func (a *accounts) learn(proven *account) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.learned[proven.user]; e != nil {
		if e.Value.(*account).password == proven.password {
			return
		}
		a.order.Remove(e)
	} else if given := a.given[proven.user]; given != nil && given.password == proven.password {
		return
	}
	if a.learned == nil {
		a.learned = map[string]*list.Element{}
	}
	a.learned[proven.user] = a.order.PushFront(proven)
	if a.order.Len() > maxLearned {
		last := a.order.Back()
		a.order.Remove(last)
		delete(a.learned, last.Value.(*account).user)
	}
}

// doubt makes every account prove its password at its next login.
func (a *accounts) doubt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.given {
		one.doubt()
	}
	for e := a.order.Front(); e != nil; e = e.Next() {
		e.Value.(*account).doubt()
	}
}

// forget drops a learned account whose password a server refuses now.
func (a *accounts) forget(gone *account) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e := a.learned[gone.user]; e != nil && e.Value.(*account) == gone {
		a.order.Remove(e)
		delete(a.learned, gone.user)
	}
}

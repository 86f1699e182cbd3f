package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/target"
)

// serverError is an error of one server, printed as "NAME: what is wrong".
type serverError struct {
	name string
	err  error
}

func (e *serverError) Error() string { return e.name + ": " + problemText(e.err) }
func (e *serverError) Unwrap() error { return e.err }

// problemText is what people see of a server's error: in plain words where it
// is a known kind of trouble, else as it is.
func problemText(err error) string {
	p := target.Explain(err)
	if p.Kind == target.Unclassified {
		return err.Error()
	}
	return p.String()
}

// failure turns an error into the reason and detail of a row. What the detail
// says is not said again by the reason.
func failure(err error) (reason, detail string) {
	p := target.Explain(err)
	detail = firstOf(p.Detail, problemText(err))
	return strings.ReplaceAll(strings.ToLower(p.Kind.String()), " ", "-"), detail
}

// explained is the error of a command whose one server failed.
func explained(ctx context.Context, s server, err error) error {
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errNotAnswered) {
		return context.Cause(ctx)
	}
	return cannotTell(&serverError{s.name, withGrant(ctx, s, err)})
}

// explain says on stderr what is wrong with one server.
func explain(ctx context.Context, stderr io.Writer, command string, s server, err error) {
	fmt.Fprintf(stderr, "%s: %s\n", command, (&serverError{s.name, withGrant(ctx, s, err)}).Error())
}

// explainDenied says which grants would complete a record. Its replicas are
// part of the record only as far as they make a replica an intermediate one.
func explainDenied(ctx context.Context, stderr io.Writer, command string, s server, record *status.Server) {
	for _, need := range record.Denied {
		if need == flavor.ListReplicas && len(record.Channels) == 0 {
			continue
		}
		if grant := grantFor(ctx, s, need); grant != "" {
			fmt.Fprintf(stderr, "%s: %s: not shown for lack of a privilege: %s\n", command, s.name, grant)
		}
	}
}

// withGrant adds the statement that mends a missing privilege.
func withGrant(ctx context.Context, s server, err error) error {
	var denied *status.PrivilegeError
	if !errors.As(err, &denied) {
		return err
	}
	grant := grantFor(ctx, s, denied.Need)
	if grant == "" {
		return err
	}
	return fmt.Errorf("%s; as an administrator: %s", target.Explain(err), grant)
}

// grantFor asks the server who we are. Without an answer there is no advice.
func grantFor(ctx context.Context, s server, need flavor.Need) string {
	if s.db == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	identity, err := status.Identify(ctx, s.db)
	if err != nil {
		return ""
	}
	account, err := status.Account(ctx, s.db)
	if err != nil {
		return ""
	}
	return flavor.Grant(identity.Flavor, need, account)
}

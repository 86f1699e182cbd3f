package commands

import (
	"context"
	"fmt"
	"io"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

const gtidOperands = `An operand is a GTID set or MariaDB position, @FILE, or - for stdin; each --from TARGET puts
the executed set of a live server in front of them. MySQL sets are read as MySQL 9.7 reads them;
on MariaDB positions contains means reached, union the later and intersect the earlier position.`

// gtidOperation is one subcommand of gtid.
type gtidOperation struct {
	name, usage, args string
	least, most       int // number of operands; most 0 is no limit
	run               func(*gtidRun, []operand) error
}

func gtidOperations() []gtidOperation {
	return []gtidOperation{
		{"normalize", "print a set as the server prints it", "A", 1, 1, runNormalize},
		{"count", "number of transactions in a set", "A", 1, 1, runCount},
		{"contains", "does A have all of B? yes (0) or no (1)", "A B", 2, 2, runContains},
		{"equal", "are A and B the same? yes (0) or no (1)", "A B", 2, 2, runEqual},
		{"union", "what any of the operands has", "A B...", 1, 0, runUnion},
		{"subtract", "what A has and B has not", "A B", 2, 2, runSubtract},
		{"intersect", "what both have", "A B", 2, 2, runIntersect},
		{"missing", "what A lacks of B (a replica of its primary)", "A B", 2, 2, runMissing},
		{"errant", "what replica A has and primary B has not", "A B", 2, 2, runErrant},
		{"diff", "both differences; exit 0 if there is none, else 1", "A B", 2, 2, runDiff},
	}
}

func gtidCommand(env *environment) *cli.Command {
	group := &cli.Command{
		Name:        "gtid",
		Usage:       "algebra on MySQL GTID sets and MariaDB positions",
		Description: gtidOperands,
	}
	for _, op := range gtidOperations() {
		group.Subcommands = append(group.Subcommands, &cli.Command{
			Name: op.name, Usage: op.usage, ArgsUsage: op.args, Description: gtidOperands, UsageText: example("gtid-" + op.name),
			Flags: append(append([]cli.Flag{
				&cli.StringSliceFlag{Name: "from", Usage: "take an operand from a live server (may be repeated)"},
				&cli.BoolFlag{Name: "strict", Usage: "refuse what a server silently drops or other versions read differently, such as 5-3 and 010"},
				&cli.BoolFlag{Name: "lenient", Usage: "read sets out of a dump's SET statement, quotes, or SHOW ...\\G"},
				durationFlag("timeout", 5*time.Second, "limit for asking one server"),
			}, outputFlags(false)...), connectionFlags()...),
			Action: action(func(c *cli.Context) error { return runGTID(c.Context, env, c, op) }),
		})
	}
	return group
}

// operand is one value with where it came from.
type operand struct {
	name  string // A, B, ... or the server's name, for errors
	value gtid.Value
	own   string // server_uuid of the server it came from, "" if it did not
}

// gtidRun is one invocation of a subcommand.
type gtidRun struct {
	env     *environment
	c       *cli.Context
	print   *printer
	usedStd bool
}

func runGTID(ctx context.Context, env *environment, c *cli.Context, op gtidOperation) error {
	r := &gtidRun{env: env, c: c, print: newPrinter(env, c)}
	if c.Bool("strict") && c.Bool("lenient") {
		return usagef("--strict and --lenient exclude each other")
	}
	n := len(c.StringSlice("from")) + c.NArg()
	if n < op.least || op.most > 0 && n > op.most {
		return usagef("needs %s, not %d operands (usage: mysqlrw gtid %s %s)", operandCount(op), n, op.name, op.args)
	}
	operands, err := r.operands(ctx)
	if err != nil {
		return err
	}
	for _, o := range operands[1:] {
		a, b := operands[0].value.Kind(), o.value.Kind()
		if a != b && a != gtid.KindEither && b != gtid.KindEither {
			return usagef("%s is a %s and %s is a %s: they cannot be compared", operands[0].name, a, o.name, b)
		}
	}
	return op.run(r, operands)
}

func operandCount(op gtidOperation) string {
	if op.most == op.least {
		return fmt.Sprint(op.least)
	}
	return fmt.Sprintf("at least %d", op.least)
}

// operands reads the servers, then the arguments. Arguments come first in
// time, so that a typing error costs no connection.
func (r *gtidRun) operands(ctx context.Context) ([]operand, error) {
	from := r.c.StringSlice("from")
	all := make([]operand, len(from), len(from)+r.c.NArg())
	for i, arg := range r.c.Args().Slice() {
		name := string(rune('A' + (len(from)+i)%26))
		o, err := r.argument(name, arg)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	if len(from) == 0 {
		return all, nil
	}
	k, err := newConnector(r.env, r.c)
	if err != nil {
		return nil, err
	}
	servers, err := k.openAll(from)
	if err != nil {
		return nil, err
	}
	defer closeAll(servers)
	// One after another: with the replica read first, what the primary commits
	// meanwhile cannot look errant.
	for i, s := range servers {
		if all[i], err = r.fromServer(ctx, s); err != nil {
			return nil, explained(ctx, s, err)
		}
	}
	return all, nil
}

func (r *gtidRun) fromServer(ctx context.Context, s server) (operand, error) {
	limit, _ := duration(r.c, "timeout")
	ctx, cancel := within(ctx, limit)
	defer cancel()
	identity, err := status.Identify(ctx, s.db)
	if err != nil {
		return operand{}, err
	}
	o := operand{name: s.name}
	if o.value, err = status.Executed(ctx, s.db, identity.Flavor); err != nil || identity.Flavor == flavor.MariaDB {
		return o, err
	}
	rows, err := status.Query(ctx, s.db, "SELECT @@server_uuid AS uuid")
	if err == nil {
		o.own = rows[0].Text("uuid")
	}
	return o, err
}

// argument reads one operand from the command line, a file or stdin.
func (r *gtidRun) argument(name, arg string) (operand, error) {
	if arg == "-" {
		if r.usedStd {
			return operand{}, usagef("stdin (-) can be read only once")
		}
		r.usedStd = true
	}
	text, err := readOperand(r.env, arg)
	if err != nil {
		return operand{}, err
	}
	v, err := r.parse(text)
	if err != nil {
		return operand{}, usagef("operand %s: %w", name, err)
	}
	return operand{name: name, value: v}, nil
}

// readOperand returns the text itself, or for @FILE and - what is in the file
// or on stdin, without the line end that a shell puts there.
func readOperand(env *environment, arg string) (string, error) {
	var data []byte
	var err error
	switch {
	case arg == "-":
		data, err = io.ReadAll(env.stdin)
	case strings.HasPrefix(arg, "@"):
		data, err = os.ReadFile(arg[1:])
	default:
		return arg, nil
	}
	if err != nil {
		return "", usagef("%w", err)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

func (r *gtidRun) parse(text string) (gtid.Value, error) {
	kind := gtid.Detect(text)
	switch {
	case kind == gtid.KindLog:
		return gtid.Value{}, fmt.Errorf("a %s has no GTIDs in it", kind)
	case r.c.Bool("lenient") && kind != gtid.KindDomain:
		set, err := gtid.ParseLenient(text)
		return set.Value(), err
	case r.c.Bool("strict") && kind != gtid.KindDomain:
		set, err := gtid.ParseStrict(text)
		return set.Value(), err
	default:
		return gtid.ParseValue(text)
	}
}

// set prints a resulting set or position, with its count in JSON.
func (r *gtidRun) set(v gtid.Value) error {
	result := struct {
		Result string   `json:"result"`
		Count  *big.Int `json:"count"` // null for a MariaDB position, which is no set
	}{Result: v.String()}
	if set, ok := v.Set(); ok {
		result.Count = set.BigCount()
	}
	return r.line(v.String(), result)
}

// line prints text as it is in every format but JSON.
func (r *gtidRun) line(text string, v any) error {
	switch {
	case r.print.quiet:
		return nil
	case r.print.format == "json":
		return printJSON(r.env.stdout, v, "  ")
	}
	_, err := fmt.Fprintln(r.env.stdout, text)
	return err
}

func (r *gtidRun) predicate(yes bool) error {
	text, code := "yes", exitYes
	if !yes {
		text, code = "no", exitNo
	}
	if err := r.line(text, map[string]bool{"answer": yes}); err != nil {
		return err
	}
	return answer(code)
}

func runNormalize(r *gtidRun, o []operand) error { return r.set(o[0].value) }

func runCount(r *gtidRun, o []operand) error {
	set, ok := o[0].value.Set()
	if !ok {
		return usagef("a MariaDB position is not a set: its transactions cannot be counted")
	}
	return r.line(set.BigCount().String(), map[string]*big.Int{"count": set.BigCount()})
}

func runContains(r *gtidRun, o []operand) error {
	yes, err := o[0].value.Contains(o[1].value)
	if err != nil {
		return usagef("%w", err)
	}
	return r.predicate(yes)
}

func runEqual(r *gtidRun, o []operand) error { return r.predicate(o[0].value.Equal(o[1].value)) }

func runUnion(r *gtidRun, o []operand) error {
	v := o[0].value
	for _, other := range o[1:] {
		var err error
		if v, err = v.Union(other.value); err != nil {
			return usagef("%w", err)
		}
	}
	return r.set(v)
}

func runSubtract(r *gtidRun, o []operand) error { return r.missing(o[1].value, o[0].value) }

func runMissing(r *gtidRun, o []operand) error { return r.missing(o[0].value, o[1].value) }

// missing prints what a lacks of b.
func (r *gtidRun) missing(a, b gtid.Value) error {
	v, err := a.Missing(b)
	if err != nil {
		return usagef("%w", err)
	}
	return r.set(v)
}

func runIntersect(r *gtidRun, o []operand) error {
	v, err := o[0].value.Intersect(o[1].value)
	if err != nil {
		return usagef("%w", err)
	}
	return r.set(v)
}

func runErrant(r *gtidRun, o []operand) error {
	v, err := errantOn(o[0].value, o[1].value, o[1].own)
	if err != nil {
		return usagef("%w", err)
	}
	return r.set(v)
}

// errantOn returns what a replica has and its primary has not. It leaves out
// what carries the primary's own UUID, if that is known: a replica that is
// read a moment before its primary cannot have made that up.
func errantOn(replica, primary gtid.Value, own string) (gtid.Value, error) {
	v, err := primary.Missing(replica)
	set, isSet := v.Set()
	if uuid, unknown := gtid.ParseUUID(own); err == nil && isSet && unknown == nil {
		v = set.Without(uuid).Value()
	}
	return v, err
}

func runDiff(r *gtidRun, o []operand) error {
	onlyB, err := o[0].value.Missing(o[1].value)
	if err != nil {
		return usagef("%w", err)
	}
	onlyA, _ := o[1].value.Missing(o[0].value)
	var lines []string
	for _, side := range []struct {
		sign string
		v    gtid.Value
	}{{"-", onlyA}, {"+", onlyB}} {
		if !side.v.IsEmpty() {
			lines = append(lines, side.sign+strings.ReplaceAll(side.v.String(), "\n", "\n"+side.sign))
		}
	}
	code := exitNo
	if len(lines) == 0 {
		code = exitYes
	}
	if code == exitNo || r.print.format == "json" {
		err := r.line(strings.Join(lines, "\n"), map[string]string{"only_a": onlyA.String(), "only_b": onlyB.String()})
		if err != nil {
			return err
		}
	}
	return answer(code)
}

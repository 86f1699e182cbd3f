package commands

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mysqlrw/mysqlrw/lag"
)

// The exit codes that Nagios and its kin give a meaning to.
const (
	nagiosOK = iota
	nagiosWarning
	nagiosCritical
	nagiosUnknown
)

var nagiosWords = [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}

// nagios prints one status line for all rows and returns the worst state. A
// replica that does not replicate is CRITICAL: it is what one is woken for.
func (r *lagRun) nagios(rows []lagRow) error {
	warning, warn := duration(r.c, "max")
	critical, crit := duration(r.c, "critical")
	state := nagiosOK
	var messages, data []string
	for _, row := range rows {
		own := nagiosOK
		overWarning, _ := row.lag.Exceeds(warning)
		overCritical, _ := row.lag.Exceeds(critical)
		switch {
		case row.err != nil:
			own = nagiosUnknown
		case stopsReplication(row.lag.Reason()) || crit && overCritical:
			own = nagiosCritical
		case warn && overWarning:
			own = nagiosWarning
		case row.Seconds == nil:
			own = nagiosUnknown
		}
		name := row.Target
		if text(row.Channel) != "" {
			name += "/" + *row.Channel
		}
		if row.Seconds != nil {
			messages = append(messages, name+" "+secondsText(row.Seconds, nil))
			data = append(data, fmt.Sprintf("'%s'=%.3fs;%s;%s;0", name, *row.Seconds, limitText(warning.Seconds(), warn), limitText(critical.Seconds(), crit)))
		} else {
			messages = append(messages, name+" "+reasonText(row.Reason, row.Detail))
		}
		if worseNagios(own, state) {
			state = own
		}
	}
	line := fmt.Sprintf("LAG %s - %s", nagiosWords[state], strings.Join(messages, ", "))
	if len(data) > 0 {
		line += " | " + strings.Join(data, " ")
	}
	fmt.Fprintln(r.env.stdout, strings.ReplaceAll(line, "\n", " "))
	return answer(state)
}

// nagiosUsage turns the exit code of an error into UNKNOWN for a monitoring
// system, to which 2 would be CRITICAL and wake somebody for a typing error.
func nagiosUsage(env *environment, code int) int {
	if code == exitYes || !slices.Contains(env.args, "--nagios") {
		return code
	}
	fmt.Fprintln(env.stdout, "LAG UNKNOWN - the check could not run: see its stderr")
	return nagiosUnknown
}

func limitText(seconds float64, set bool) string {
	if !set {
		return ""
	}
	return fmt.Sprintf("%g", seconds)
}

// worseNagios orders the states: CRITICAL, UNKNOWN, WARNING, OK.
func worseNagios(a, b int) bool {
	rank := [...]int{nagiosOK: 0, nagiosWarning: 1, nagiosUnknown: 2, nagiosCritical: 3}
	return rank[a] > rank[b]
}

func stopsReplication(r lag.Reason) bool {
	switch r {
	case lag.ApplierStopped, lag.ReceiverStopped, lag.ReceiverConnecting, lag.NotAReplica:
		return true
	default:
		return false
	}
}

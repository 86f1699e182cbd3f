package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestReport(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		err    error
		signal error // the cause of the context's end
		code   int
		stderr string
	}{
		{"done", nil, nil, exitYes, ""},
		{"the answer is no", answer(exitNo), nil, exitNo, ""},
		{"yes is no error", answer(exitYes), nil, exitYes, ""},
		{"usage", usagef("bad %s", "flag"), nil, exitUsage, "mysqlrw lag: bad flag\n"},
		{"cannot tell", cannotTell(errors.New("gone")), nil, exitUnknown, "mysqlrw lag: gone\n"},
		{"wrapped", fmt.Errorf("outer: %w", usagef("inner")), nil, exitUsage, "mysqlrw lag: outer: inner\n"},
		{"any other error", errors.New("disk full"), nil, exitUnknown, "mysqlrw lag: disk full\n"},
		{"interrupted", context.Canceled, errSignal{exitInt}, 130, ""},
		{"terminated while failing", cannotTell(errors.New("gone")), errSignal{exitTerm}, 143, ""},
		{"interrupted after success", nil, errSignal{exitInt}, 130, ""},
		{"ended for another reason", cannotTell(errors.New("gone")), errNotAnswered, exitUnknown, "mysqlrw lag: gone\n"},
	}
	for _, test := range tests {
		ctx, cancel := context.WithCancelCause(t.Context())
		if test.signal != nil {
			cancel(test.signal)
		}
		var stderr bytes.Buffer
		if got := report(ctx, &stderr, "mysqlrw lag", test.err); got != test.code || stderr.String() != test.stderr {
			t.Errorf("%s: got %d, %q, want %d, %q", test.name, got, stderr.String(), test.code, test.stderr)
		}
		cancel(nil)
	}
}

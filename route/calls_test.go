package route_test

import (
	"slices"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
	"github.com/mysqlrw/mysqlrw/route"
)

func TestCalls(t *testing.T) {
	o := &route.Options{Options: sqltoken.Options{Flavor: flavor.MySQL}}
	for text, want := range map[string][]bool{
		"":                                     {},
		"SELECT 1":                             {false},
		"CALL p()":                             {true},
		"SELECT 1; ; CALL p(); /* c */ DO 1; ": {false, true, false},
	} {
		if got := route.Calls(text, o); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

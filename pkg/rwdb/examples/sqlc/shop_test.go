package shop_test

import (
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb/examples"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb/examples/internal/shoptest"
	shop "github.com/mysqlrw/mysqlrw/pkg/rwdb/examples/sqlc"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb/examples/sqlc/query"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

func TestShop(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		site := shoptest.New(t, f, examples.Statements()...)
		s, err := shop.Open(t.Context(), site.Options)
		if err != nil {
			t.Fatal(err)
		}
		c := shoptest.Case[query.Item, query.Order, int32]{
			Site: site, Shop: s,
			Item:  func(i query.Item) shoptest.Item { return shoptest.Item(i) },
			Order: func(o query.Order) shoptest.Order { return shoptest.Order(o) },
		}
		c.Run(t)
	})
}

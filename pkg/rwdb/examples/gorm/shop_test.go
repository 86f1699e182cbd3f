package shop_test

import (
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	shop "github.com/mysqlrw/mysqlrw/pkg/rwdb/examples/gorm"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb/examples/internal/shoptest"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

func TestShop(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		site := shoptest.New(t, f)
		s, err := shop.Open(site.Options)
		if err != nil {
			t.Fatal(err)
		}
		migrate(t, f, site, s)
		c := shoptest.Case[shop.Item, shop.Order, int]{
			Site: site, Shop: s,
			Item:  func(i shop.Item) shoptest.Item { return shoptest.Item(i) },
			Order: func(o shop.Order) shoptest.Order { return shoptest.Order(o) },
		}
		c.Run(t)
	})
}

// migrate has the tables made when both replicas are known, one of which applies nothing and still has tables that the
// others have no more.
func migrate(t *testing.T, f flavor.Flavor, site *shoptest.Site, s *shop.Shop) {
	again := func() {
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	again()
	site.Replicated(t)
	site.Known(t, again)
	release := site.Hold(t)
	sandboxtest.Exec(t, site.Primary(), "DROP TABLE shop.orders, shop.items")
	sandboxtest.SameAs(t, f, site.Replica(1), site.Primary())
	again()
	again() // must see that the tables are there
	if reads := site.Reads(t); reads["replica1"] == 0 || reads[shoptest.Held] > 0 {
		t.Errorf("the reads of a migration ran on %v", reads)
	}
	release()
	site.Replicated(t)
}

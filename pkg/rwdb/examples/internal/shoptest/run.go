package shoptest

import (
	"context"
	"slices"
	"testing"
	"time"
)

// Shop is what the examples have in common. I and O are their types of an item
// and an order, N that of a limit.
type Shop[I, O any, N int | int32] interface {
	Close() error
	Add(ctx context.Context, name string, price, stock int64) (I, error)
	SetPrice(ctx context.Context, id, price int64) error
	Price(ctx context.Context, id int64) (int64, error)
	Items(ctx context.Context, ids ...int64) ([]I, error)
	Place(ctx context.Context, itemID, quantity int64) (int64, error)
	Buy(ctx context.Context, itemID, quantity int64) (O, I, error)
	Revenue(ctx context.Context) (int64, error)
	Bestsellers(ctx context.Context, limit N) ([]I, error)
}

// Item has the fields of the examples' items, so that these can be converted.
type Item struct {
	ID    int64
	Name  string
	Price int64
	Stock int64
}

// Order has the fields of the examples' orders.
type Order struct {
	ID       int64
	ItemID   int64
	Quantity int64
	Total    int64
	PlacedAt time.Time
}

// Case is a shop on a site.
type Case[I, O any, N int | int32] struct {
	Site  *Site
	Shop  Shop[I, O, N]
	Item  func(I) Item
	Order func(O) Order
}

// Run does everything that a shop can do while one replica applies nothing. The
// tables must be there, and empty.
func (c *Case[I, O, N]) Run(t *testing.T) {
	t.Cleanup(func() {
		if err := c.Shop.Close(); err != nil {
			t.Error(err)
		}
	})
	pen := c.add(t, Item{Name: "pen", Price: 100, Stock: 10})
	c.Site.Replicated(t)
	c.Site.Known(t, func() { c.bestsellers(t) })
	release := c.Site.Hold(t)

	c.ownWrites(t, pen)
	c.orders(t, pen)
	c.others(t, pen)
	c.control(t, pen)

	release()
	c.Site.Replicated(t)
	for range 4 {
		if items := c.bestsellers(t); len(items) != 1 || items[0].ID != pen {
			t.Errorf("the bestsellers are %v when all replicas have everything", items)
		}
	}
}

func (c *Case[I, O, N]) add(t *testing.T, want Item) (id int64) {
	t.Helper()
	stored, err := c.Shop.Add(t.Context(), want.Name, want.Price, want.Stock)
	if err != nil {
		t.Fatal(err)
	}
	got := c.Item(stored)
	want.ID = got.ID
	if got != want || got.ID <= 0 {
		t.Fatalf("stored is %+v, want %+v", got, want)
	}
	return got.ID
}

// onReplica ends the test if reads ran elsewhere than on the replica that
// applies. A few may run on the primary: the program may not yet know of the
// replica when it begins.
func (c *Case[I, O, N]) onReplica(t *testing.T, what string, min int) {
	t.Helper()
	reads := c.Site.Reads(t)
	if reads["replica1"] < min || reads[Held] > 0 {
		t.Errorf("%s: reads ran on %v, want at least %d on replica1 and none on %s", what, reads, min, Held)
	}
	t.Logf("%s: reads ran on %v", what, reads)
}

// ownWrites: each read sees the write before it, and runs on a replica all the
// same.
func (c *Case[I, O, N]) ownWrites(t *testing.T, pen int64) {
	t.Helper()
	c.Site.Seen()
	const rounds = 40
	for price := range int64(rounds) {
		if err := c.Shop.SetPrice(t.Context(), pen, price); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Shop.Price(t.Context(), pen); err != nil || got != price {
			t.Fatalf("the price is %d, %v, after %d was written: %+v", got, err, price, c.Site.Seen())
		}
	}
	ink := c.add(t, Item{Name: "ink", Price: 7, Stock: 1})
	items, err := c.Shop.Items(t.Context(), ink, pen)
	if err != nil || len(items) != 2 || c.Item(items[0]).Price != rounds-1 || c.Item(items[1]).Price != 7 {
		t.Errorf("the items are %+v, %v", items, err)
	}
	c.onReplica(t, "own writes", rounds*9/10)
}

// orders: a visitor who buys is shown what was bought.
func (c *Case[I, O, N]) orders(t *testing.T, pen int64) {
	t.Helper()
	if err := c.Shop.SetPrice(t.Context(), pen, 100); err != nil {
		t.Fatal(err)
	}
	for sold := int64(2); sold <= 8; sold += 2 {
		o, i, err := c.Shop.Buy(t.Context(), pen, 2)
		if err != nil {
			t.Fatal(err)
		}
		order, item := c.Order(o), c.Item(i)
		if want := (Item{ID: pen, Name: "pen", Price: 100, Stock: 10 - sold}); item != want {
			t.Errorf("the item on the receipt is %+v, want %+v", item, want)
		}
		if age := time.Since(order.PlacedAt); age.Abs() > 26*time.Hour { // servers have time zones
			t.Errorf("the order was placed at %v", order.PlacedAt)
		}
		order.PlacedAt = time.Time{}
		if want := (Order{ID: order.ID, ItemID: pen, Quantity: 2, Total: 200}); order != want || order.ID <= 0 {
			t.Errorf("the order on the receipt is %+v, want %+v", order, want)
		}
	}
	c.onReplica(t, "receipts", 6)

	before := c.revenue(t)
	if id, err := c.Shop.Place(t.Context(), pen, 3); err == nil {
		t.Errorf("order %d of 3 was taken with 2 in stock", id)
	}
	if after := c.revenue(t); before != 800 || after != before {
		t.Errorf("the revenue is %d, and %d after an order that was not taken", before, after)
	}
	items, err := c.Shop.Items(t.Context(), pen)
	if err != nil || len(items) != 1 || c.Item(items[0]).Stock != 2 {
		t.Errorf("after an order that was not taken there is %+v, %v", items, err)
	}
	c.onReplica(t, "revenue", 3)
}

func (c *Case[I, O, N]) revenue(t *testing.T) int64 {
	t.Helper()
	total, err := c.Shop.Revenue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// others: a read at level global sees what another program has written.
func (c *Case[I, O, N]) others(t *testing.T, pen int64) {
	t.Helper()
	db, err := c.Site.Primary().Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for n := range int64(5) {
		_, err := db.ExecContext(t.Context(),
			"INSERT INTO shop.orders (item_id, quantity, total, placed_at) VALUES (?, 1, 1, NOW())", pen)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.revenue(t); got != 801+n {
			t.Fatalf("the revenue is %d after another program has made it %d: %+v", got, 801+n, c.Site.Seen())
		}
	}
	c.onReplica(t, "what others write", 4)
}

// control: the held replica is read by who asks for nothing, and is stale. What
// was found above would not be so if reads went anywhere.
func (c *Case[I, O, N]) control(t *testing.T, pen int64) {
	t.Helper()
	fresh, stale := 0, 0
	for range 20 {
		switch items := c.bestsellers(t); {
		case len(items) == 0:
			stale++
		case items[0].ID == pen:
			fresh++
		default:
			t.Fatalf("the bestsellers are %+v", items)
		}
	}
	reads := c.Site.Reads(t)
	if stale == 0 || stale != reads[Held] || fresh != reads["replica1"] {
		t.Errorf("%d reads were stale and %d fresh, and they ran on %v: want all on %s stale, and some",
			stale, fresh, reads, Held)
	}
}

func (c *Case[I, O, N]) bestsellers(t *testing.T) []Item {
	t.Helper()
	all, err := c.Shop.Bestsellers(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	var items []Item
	for i := range slices.Values(all) {
		items = append(items, c.Item(i))
	}
	return items
}

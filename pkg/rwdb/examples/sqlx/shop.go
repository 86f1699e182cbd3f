// Package shop is a part of a shop that uses sqlx: nothing in it knows of
// replicas but Open, and the reads that ask for less or more than their own
// writes.
package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/route"
)

// Item is something that is sold.
type Item struct {
	ID    int64  `db:"id"`
	Name  string `db:"name"`
	Price int64  `db:"price"` // in cents
	Stock int64  `db:"stock"`
}

// Order is a sale of one item.
type Order struct {
	ID       int64     `db:"id"`
	ItemID   int64     `db:"item_id"`
	Quantity int64     `db:"quantity"`
	Total    int64     `db:"total"` // in cents
	PlacedAt time.Time `db:"placed_at"`
}

// ErrOutOfStock is returned by Place where fewer are left than were ordered.
var ErrOutOfStock = errors.New("there are not so many left")

// Shop has one pool for all servers.
type Shop struct {
	db    *sqlx.DB
	price *sqlx.Stmt
}

// Open returns the shop of a cluster. Which of its servers is the primary is
// found out. The DSNs need parseTime=true for PlacedAt.
func Open(ctx context.Context, o rwdb.Options) (*Shop, error) {
	connector, err := rwdb.New(o)
	if err != nil {
		return nil, err
	}
	db := sqlx.NewDb(sql.OpenDB(connector), "mysql")
	price, err := db.PreparexContext(ctx, "SELECT price FROM items WHERE id = ?")
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Shop{db, price}, nil
}

// Close closes the pool, which ends the watching of the servers.
func (s *Shop) Close() error { return errors.Join(s.price.Close(), s.db.Close()) }

// Add adds an item and returns it as it is stored: the read runs on a replica
// that has the write.
func (s *Shop) Add(ctx context.Context, name string, price, stock int64) (Item, error) {
	result, err := s.db.NamedExecContext(ctx, "INSERT INTO items (name, price, stock) VALUES (:name, :price, :stock)",
		Item{Name: name, Price: price, Stock: stock})
	if err != nil {
		return Item{}, fmt.Errorf("add item: %w", err)
	}
	id, err := result.LastInsertId()
	if err != nil {
		return Item{}, fmt.Errorf("add item: %w", err)
	}
	var stored Item
	if err := s.db.GetContext(ctx, &stored, "SELECT * FROM items WHERE id = ?", id); err != nil {
		return Item{}, fmt.Errorf("read item %d: %w", id, err)
	}
	return stored, nil
}

// SetPrice changes what an item costs.
func (s *Shop) SetPrice(ctx context.Context, id, price int64) error {
	if _, err := s.db.ExecContext(ctx, "UPDATE items SET price = ? WHERE id = ?", price, id); err != nil {
		return fmt.Errorf("change price of item %d: %w", id, err)
	}
	return nil
}

// Price returns what an item costs. The statement is prepared once in the
// program, and on each server when it runs there first.
func (s *Shop) Price(ctx context.Context, id int64) (price int64, err error) {
	if err := s.price.GetContext(ctx, &price, id); err != nil {
		return 0, fmt.Errorf("read price of item %d: %w", id, err)
	}
	return price, nil
}

// Items returns the items of these numbers, in their order.
func (s *Shop) Items(ctx context.Context, ids ...int64) ([]Item, error) {
	query, args, err := sqlx.In("SELECT * FROM items WHERE id IN (?) ORDER BY id", ids)
	if err != nil {
		return nil, fmt.Errorf("read items: %w", err)
	}
	var items []Item
	if err := s.db.SelectContext(ctx, &items, s.db.Rebind(query), args...); err != nil {
		return nil, fmt.Errorf("read items: %w", err)
	}
	return items, nil
}

// Place sells an item. All statements of a transaction that may write run on
// the primary, its reads too.
func (s *Shop) Place(ctx context.Context, itemID, quantity int64) (orderID int64, err error) {
	tx, err := s.db.BeginTxx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("place order: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing after Commit

	var item Item
	if err := tx.GetContext(ctx, &item, "SELECT * FROM items WHERE id = ? FOR UPDATE", itemID); err != nil {
		return 0, fmt.Errorf("place order of item %d: %w", itemID, err)
	}
	if item.Stock < quantity {
		return 0, fmt.Errorf("place order of item %d: %w", itemID, ErrOutOfStock)
	}
	if _, err := tx.ExecContext(ctx, "UPDATE items SET stock = stock - ? WHERE id = ?", quantity, itemID); err != nil {
		return 0, fmt.Errorf("place order of item %d: %w", itemID, err)
	}
	order := Order{ItemID: itemID, Quantity: quantity, Total: quantity * item.Price}
	result, err := tx.NamedExecContext(ctx,
		"INSERT INTO orders (item_id, quantity, total) VALUES (:item_id, :quantity, :total)", order)
	if err != nil {
		return 0, fmt.Errorf("place order of item %d: %w", itemID, err)
	}
	if orderID, err = result.LastInsertId(); err != nil {
		return 0, fmt.Errorf("place order of item %d: %w", itemID, err)
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("place order of item %d: %w", itemID, err)
	}
	return orderID, nil
}

// Receipt returns an order and its item as they were at one moment: a read-only
// transaction runs whole on one server, which may be a replica.
func (s *Shop) Receipt(ctx context.Context, orderID int64) (order Order, item Item, err error) {
	tx, err := s.db.BeginTxx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return order, item, fmt.Errorf("read order: %w", err)
	}
	defer func() { _ = tx.Rollback() }()

	if err := tx.GetContext(ctx, &order, "SELECT * FROM orders WHERE id = ?", orderID); err != nil {
		return order, item, fmt.Errorf("read order %d: %w", orderID, err)
	}
	if err := tx.GetContext(ctx, &item, "SELECT * FROM items WHERE id = ?", order.ItemID); err != nil {
		return order, item, fmt.Errorf("read order %d: %w", orderID, err)
	}
	return order, item, tx.Commit()
}

// Buy is one visit: an order, and what is shown of it. Its reads wait for what
// this visitor has done and seen, not for what others do at the same time.
func (s *Shop) Buy(ctx context.Context, itemID, quantity int64) (Order, Item, error) {
	var visit rwdb.Session
	ctx = rwdb.WithSession(ctx, &visit)
	id, err := s.Place(ctx, itemID, quantity)
	if err != nil {
		return Order{}, Item{}, err
	}
	return s.Receipt(ctx, id)
}

// Revenue returns what all orders add up to, whichever process has taken them:
// at level global a read sees all that was committed before it began.
func (s *Shop) Revenue(ctx context.Context) (total int64, err error) {
	ctx = rwdb.WithLevel(ctx, route.Global)
	if err := s.db.GetContext(ctx, &total, "SELECT COALESCE(SUM(total), 0) FROM orders"); err != nil {
		return 0, fmt.Errorf("read revenue: %w", err)
	}
	return total, nil
}

// Bestsellers returns the items that were sold most. It is for a page on which
// old numbers do no harm: its read waits for nothing.
func (s *Shop) Bestsellers(ctx context.Context, limit int) (items []Item, err error) {
	ctx = rwdb.WithLevel(ctx, route.Eventual)
	err = s.db.SelectContext(ctx, &items, "SELECT items.* FROM items JOIN orders ON item_id = items.id "+
		"GROUP BY items.id ORDER BY SUM(quantity) DESC, items.id LIMIT ?", limit)
	if err != nil {
		return nil, fmt.Errorf("read bestsellers: %w", err)
	}
	return items, nil
}

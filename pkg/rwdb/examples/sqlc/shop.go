// Package shop is a part of a shop over code that sqlc has generated: nothing
// in it knows of replicas but Open, and the reads that ask for less or more
// than their own writes.
//
// Package query is what sqlc makes of query.sql and the tables; the command
// below makes it anew. Without CGO_ENABLED=0 that takes a C compiler.
package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb/examples/sqlc/query"
	"github.com/mysqlrw/mysqlrw/route"
)

//go:generate env CGO_ENABLED=0 go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 generate

// ErrOutOfStock is returned by Place where fewer are left than were ordered.
var ErrOutOfStock = errors.New("there are not so many left")

// Shop has one pool for all servers.
type Shop struct {
	db      *sql.DB
	queries *query.Queries
}

// Open returns the shop of a cluster. Which of its servers is the primary is
// found out. The DSNs need parseTime=true for times. The statements are
// prepared once in the program, and on each server when they run there first.
func Open(ctx context.Context, o rwdb.Options) (*Shop, error) {
	connector, err := rwdb.New(o)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	queries, err := query.Prepare(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Shop{db, queries}, nil
}

// Close closes the pool, which ends the watching of the servers.
func (s *Shop) Close() error { return errors.Join(s.queries.Close(), s.db.Close()) }

// Add adds an item and returns it as it is stored: the read runs on a replica
// that has the write.
func (s *Shop) Add(ctx context.Context, name string, price, stock int64) (query.Item, error) {
	id, err := s.queries.AddItem(ctx, query.AddItemParams{Name: name, Price: price, Stock: stock})
	if err != nil {
		return query.Item{}, fmt.Errorf("add item: %w", err)
	}
	item, err := s.queries.GetItem(ctx, id)
	if err != nil {
		return query.Item{}, fmt.Errorf("read item %d: %w", id, err)
	}
	return item, nil
}

// SetPrice changes what an item costs.
func (s *Shop) SetPrice(ctx context.Context, id, price int64) error {
	if err := s.queries.SetPrice(ctx, query.SetPriceParams{ID: id, Price: price}); err != nil {
		return fmt.Errorf("change price of item %d: %w", id, err)
	}
	return nil
}

// Price returns what an item costs.
func (s *Shop) Price(ctx context.Context, id int64) (int64, error) {
	price, err := s.queries.GetPrice(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("read price of item %d: %w", id, err)
	}
	return price, nil
}

// Items returns the items of these numbers, in their order.
func (s *Shop) Items(ctx context.Context, ids ...int64) ([]query.Item, error) {
	items, err := s.queries.ListItems(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read items: %w", err)
	}
	return items, nil
}

// Place sells an item. All statements of a transaction that may write run on
// the primary, its reads too.
func (s *Shop) Place(ctx context.Context, itemID, quantity int64) (orderID int64, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("place order: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing after Commit

	q := s.queries.WithTx(tx)
	item, err := q.LockItem(ctx, itemID)
	if err != nil {
		return 0, fmt.Errorf("place order of item %d: %w", itemID, err)
	}
	if item.Stock < quantity {
		return 0, fmt.Errorf("place order of item %d: %w", itemID, ErrOutOfStock)
	}
	if err := q.TakeFromStock(ctx, query.TakeFromStockParams{ID: itemID, Quantity: quantity}); err != nil {
		return 0, fmt.Errorf("place order of item %d: %w", itemID, err)
	}
	orderID, err = q.AddOrder(ctx, query.AddOrderParams{ItemID: itemID, Quantity: quantity, Total: quantity * item.Price})
	if err != nil {
		return 0, fmt.Errorf("place order of item %d: %w", itemID, err)
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("place order of item %d: %w", itemID, err)
	}
	return orderID, nil
}

// Receipt returns an order and its item as they were at one moment: a read-only
// transaction runs whole on one server, which may be a replica.
func (s *Shop) Receipt(ctx context.Context, orderID int64) (order query.Order, item query.Item, err error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return order, item, fmt.Errorf("read order: %w", err)
	}
	defer func() { _ = tx.Rollback() }()

	q := s.queries.WithTx(tx)
	if order, err = q.GetOrder(ctx, orderID); err != nil {
		return order, item, fmt.Errorf("read order %d: %w", orderID, err)
	}
	if item, err = q.GetItem(ctx, order.ItemID); err != nil {
		return order, item, fmt.Errorf("read order %d: %w", orderID, err)
	}
	return order, item, tx.Commit()
}

// Buy is one visit: an order, and what is shown of it. Its reads wait for what
// this visitor has done and seen, not for what others do at the same time.
func (s *Shop) Buy(ctx context.Context, itemID, quantity int64) (query.Order, query.Item, error) {
	var visit rwdb.Session
	ctx = rwdb.WithSession(ctx, &visit)
	id, err := s.Place(ctx, itemID, quantity)
	if err != nil {
		return query.Order{}, query.Item{}, err
	}
	return s.Receipt(ctx, id)
}

// Revenue returns what all orders add up to, whichever process has taken them:
// at level global a read sees all that was committed before it began.
func (s *Shop) Revenue(ctx context.Context) (int64, error) {
	total, err := s.queries.GetRevenue(rwdb.WithLevel(ctx, route.Global))
	if err != nil {
		return 0, fmt.Errorf("read revenue: %w", err)
	}
	return total, nil
}

// Bestsellers returns the items that were sold most. It is for a page on which
// old numbers do no harm: its read waits for nothing.
func (s *Shop) Bestsellers(ctx context.Context, limit int32) ([]query.Item, error) {
	items, err := s.queries.ListBestsellers(rwdb.WithLevel(ctx, route.Eventual), limit)
	if err != nil {
		return nil, fmt.Errorf("read bestsellers: %w", err)
	}
	return items, nil
}

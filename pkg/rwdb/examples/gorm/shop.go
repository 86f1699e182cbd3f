// Package shop is a part of a shop that uses GORM: nothing in it knows of
// replicas but Open, and the reads that ask for less or more than their own
// writes.
package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/route"
)

// Item is something that is sold.
type Item struct {
	ID    int64
	Name  string `gorm:"size:100;not null;unique"`
	Price int64  `gorm:"not null"` // in cents
	Stock int64  `gorm:"not null"`
}

// Order is a sale of one item.
type Order struct {
	ID       int64
	ItemID   int64     `gorm:"not null"`
	Quantity int64     `gorm:"not null"`
	Total    int64     `gorm:"not null"` // in cents
	PlacedAt time.Time `gorm:"autoCreateTime;not null"`
}

// ErrOutOfStock is returned by Place where fewer are left than were ordered.
var ErrOutOfStock = errors.New("there are not so many left")

// Shop has one pool for all servers.
type Shop struct{ db *gorm.DB }

// Open returns the shop of a cluster. Which of its servers is the primary is
// found out. The DSNs need parseTime=true for PlacedAt. GORM prepares each
// statement once in the program, and rwdb on each server when it runs there
// first.
func Open(o rwdb.Options) (*Shop, error) {
	connector, err := rwdb.New(o)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	db, err := gorm.Open(mysql.New(mysql.Config{Conn: pool}), &gorm.Config{PrepareStmt: true, Logger: logger.Discard})
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &Shop{db}, nil
}

// Migrate makes the tables that are not there, or not so. It reads at level
// global what is there, since another process may just have changed that.
func (s *Shop) Migrate(ctx context.Context) error {
	ctx = rwdb.WithLevel(ctx, route.Global)
	return s.db.WithContext(ctx).AutoMigrate(&Item{}, &Order{})
}

// Close closes the pool, which ends the watching of the servers.
func (s *Shop) Close() error {
	pool, err := s.db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// Add adds an item and returns it as it is stored: the read runs on a replica
// that has the write.
func (s *Shop) Add(ctx context.Context, name string, price, stock int64) (Item, error) {
	item := Item{Name: name, Price: price, Stock: stock}
	if err := s.db.WithContext(ctx).Create(&item).Error; err != nil {
		return Item{}, fmt.Errorf("add item: %w", err)
	}
	var stored Item
	if err := s.db.WithContext(ctx).First(&stored, item.ID).Error; err != nil {
		return Item{}, fmt.Errorf("read item %d: %w", item.ID, err)
	}
	return stored, nil
}

// SetPrice changes what an item costs.
func (s *Shop) SetPrice(ctx context.Context, id, price int64) error {
	if _, err := gorm.G[Item](s.db).Where("id = ?", id).Update(ctx, "price", price); err != nil {
		return fmt.Errorf("change price of item %d: %w", id, err)
	}
	return nil
}

// Price returns what an item costs. GORM's typed functions take the context
// themselves.
func (s *Shop) Price(ctx context.Context, id int64) (int64, error) {
	item, err := gorm.G[Item](s.db).Select("price").Where("id = ?", id).Take(ctx)
	if err != nil {
		return 0, fmt.Errorf("read price of item %d: %w", id, err)
	}
	return item.Price, nil
}

// Items returns the items of these numbers, in their order.
func (s *Shop) Items(ctx context.Context, ids ...int64) ([]Item, error) {
	items, err := gorm.G[Item](s.db).Where("id IN ?", ids).Order("id").Find(ctx)
	if err != nil {
		return nil, fmt.Errorf("read items: %w", err)
	}
	return items, nil
}

// Place sells an item. All statements of a transaction that may write run on
// the primary, its reads too.
func (s *Shop) Place(ctx context.Context, itemID, quantity int64) (orderID int64, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var item Item
		if err := tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).First(&item, itemID).Error; err != nil {
			return err
		}
		if item.Stock < quantity {
			return ErrOutOfStock
		}
		if err := tx.Model(&item).Update("stock", gorm.Expr("stock - ?", quantity)).Error; err != nil {
			return err
		}
		order := Order{ItemID: itemID, Quantity: quantity, Total: quantity * item.Price}
		if err := tx.Create(&order).Error; err != nil {
			return err
		}
		orderID = order.ID
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("place order of item %d: %w", itemID, err)
	}
	return orderID, nil
}

// Receipt returns an order and its item as they were at one moment: a read-only
// transaction runs whole on one server, which may be a replica.
func (s *Shop) Receipt(ctx context.Context, orderID int64) (order Order, item Item, err error) {
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.First(&order, orderID).Error; err != nil {
			return err
		}
		return tx.First(&item, order.ItemID).Error
	}, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return Order{}, Item{}, fmt.Errorf("read order %d: %w", orderID, err)
	}
	return order, item, nil
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
	if err := s.db.WithContext(ctx).Model(&Order{}).Select("COALESCE(SUM(total), 0)").Scan(&total).Error; err != nil {
		return 0, fmt.Errorf("read revenue: %w", err)
	}
	return total, nil
}

// Bestsellers returns the items that were sold most. It is for a page on which
// old numbers do no harm: its read waits for nothing.
func (s *Shop) Bestsellers(ctx context.Context, limit int) (items []Item, err error) {
	ctx = rwdb.WithLevel(ctx, route.Eventual)
	err = s.db.WithContext(ctx).Model(&Item{}).Joins("JOIN orders ON orders.item_id = items.id").
		Group("items.id").Order("SUM(orders.quantity) DESC, items.id").Limit(limit).Find(&items).Error
	if err != nil {
		return nil, fmt.Errorf("read bestsellers: %w", err)
	}
	return items, nil
}

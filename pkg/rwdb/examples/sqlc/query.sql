-- name: AddItem :execlastid
INSERT INTO items (name, price, stock) VALUES (?, ?, ?);

-- name: GetItem :one
SELECT * FROM items WHERE id = ?;

-- name: LockItem :one
SELECT * FROM items WHERE id = ? FOR UPDATE;

-- name: ListItems :many
SELECT * FROM items WHERE id IN (sqlc.slice('ids')) ORDER BY id;

-- name: GetPrice :one
SELECT price FROM items WHERE id = ?;

-- name: SetPrice :exec
UPDATE items SET price = ? WHERE id = ?;

-- name: TakeFromStock :exec
UPDATE items SET stock = stock - sqlc.arg(quantity) WHERE id = sqlc.arg(id);

-- name: AddOrder :execlastid
INSERT INTO orders (item_id, quantity, total) VALUES (?, ?, ?);

-- name: GetOrder :one
SELECT * FROM orders WHERE id = ?;

-- name: GetRevenue :one
SELECT CAST(COALESCE(SUM(total), 0) AS SIGNED) FROM orders;

-- name: ListBestsellers :many
SELECT items.* FROM items JOIN orders ON orders.item_id = items.id
GROUP BY items.id ORDER BY SUM(orders.quantity) DESC, items.id LIMIT ?;

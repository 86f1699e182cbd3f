package topology

import (
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// Epoch is one life of a server's position. What was learned in one epoch
// holds for no other.
type Epoch uint64

// known is what a server has at least. It is immutable.
type known struct {
	epoch    Epoch
	position gtid.Value
}

// Epoch returns the server's present epoch. A statement whose answer is to be
// given to Learn takes it before it is sent: a position that was on its way
// while the server lost it must not be believed. It is an atomic load.
func (m *Monitor) Epoch(server int) Epoch { return m.members[server].known.Load().epoch }

// Learn adds a position that a server, named by its index, is proven to have:
// from an answer, or a wait for it that said reached. epoch is from before the
// statement was sent; with another one than the present Learn does nothing.
//
// It takes no lock, and allocates nothing if the position is known. The next
// Fill has it; Wait does not wake for it.
func (m *Monitor) Learn(server int, epoch Epoch, position gtid.Value) {
	m.members[server].learn(epoch, position)
}

func (mb *member) learn(epoch Epoch, position gtid.Value) {
	for {
		have := mb.known.Load()
		if have.epoch != epoch || have.position.Has(position) {
			return
		}
		all, err := have.position.Union(position)
		if err != nil {
			return // of another kind of server: no position that this one has
		}
		if mb.known.CompareAndSwap(have, &known{epoch, all}) {
			return
		}
	}
}

// forget begins a new epoch. Only the server's own goroutine calls it.
func (mb *member) forget() {
	mb.known.Store(&known{epoch: mb.known.Load().epoch + 1})
}

// own returns the largest number that the server itself has given to a
// transaction, 0 for none. On MariaDB it counts only as long as nobody else
// wrote into the domain after it.
func (o *observation) own() uint64 {
	if pos, ok := o.position.DomainPos(); ok {
		var last uint64
		for g := range pos.Domains() {
			if g.Server == o.id {
				last = max(last, g.Seq)
			}
		}
		return last
	}
	uuid, err := gtid.ParseUUID(o.uuid)
	set, ok := o.position.Set()
	if err != nil || !ok {
		return 0
	}
	return uint64(set.Last(gtid.Source{UUID: uuid}))
}

package route

import "github.com/mysqlrw/mysqlrw/pkg/gtid"

// SetCurrent gives the snapshot the primary's position, which was asked for after the read arrived: what it has
// executed, and everything that anybody can have seen, which has besides what it is committing at this moment.
func (s *Snapshot) SetCurrent(executed, everything gtid.Value) {
	s.Current, s.CurrentKnown = everything, true
	pending, err := executed.Missing(everything)
	if err != nil || pending.IsEmpty() {
		return
	}
	if set, ok := pending.Set(); !ok || set.IsEmpty() {
		return // MariaDB does not tell what it is committing
	}
	for i := range s.Servers {
		if s.Servers[i].Role != Replica {
			continue
		}
		there, err := s.Servers[i].Position.Intersect(pending)
		if err != nil {
			continue
		}
		if all, err := s.Ahead.Union(there); err == nil {
			s.Ahead = all
		}
	}
}

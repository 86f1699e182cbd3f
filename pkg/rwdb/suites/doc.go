// Package suites answers: do go-sql-driver's own tests find through rwdb what
// they find on the plain driver?
//
// It copies that driver, in the version of go.mod, into a temporary folder, has
// its tests open their pools by functions that can be exchanged, and runs each
// test on the same server three times: as it is, through rwdb with the primary
// only, and through rwdb with the primary and two replicas.
//
// It is a module of its own, so that the copy can stand in the place of the
// driver in it.
package suites

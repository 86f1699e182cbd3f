// Package sandboxtest answers: how does a test get a real cluster of servers?
//
// A test asks for one and uses it; the cluster is taken down when the test
// ends, and the ends of the servers' error logs are shown if it failed. Under
// -short such tests are skipped.
//
// Programs are kept in the user's cache folder, or in the folder that the
// environment variable MYSQLRW_CACHE names. MySQL cannot be had on every
// machine: tests of it are skipped then, with a line that says so. MariaDB can
// be had wherever the project is tested: without it tests fail.
//
//	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
//		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
//		db := sandboxtest.Open(t, c.Primary())
//		...
//	})
package sandboxtest

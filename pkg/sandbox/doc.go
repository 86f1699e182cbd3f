// Package sandbox answers: where does a real, replicating MySQL or MariaDB
// cluster come from when a command, a demonstration or a test needs one?
//
// Install finds the server's programs on the machine, in a cache folder or,
// if there are none, in the packages of the machine's own distribution, which
// it unpacks into the cache folder without touching the system. Start runs a
// primary and its replicas on 127.0.0.1 and returns when every replica reads
// from its source and applies.
//
// What is promised: nothing is left running. Close ends the servers and
// removes their files; if the process that owns a cluster dies in any way, a
// small guard process kills the servers at once. Every server starts with an
// empty GTID set, so no replica has a transaction of its own. No password
// stands in the arguments of a process; the files that hold one can be read
// by their owner only.
//
// What is not: the servers are set up for speed, not to survive a power cut,
// and for one machine, not for a network. Data is thrown away with the cluster.
// Windows cannot run a sandbox.
//
//	cluster, err := sandbox.Start(ctx, sandbox.Options{
//		Flavor: flavor.MySQL, Replicas: 2, CacheDir: cache,
//	})
//	if err != nil { ... }
//	defer cluster.Close()
//	db, err := cluster.Primary().Open()
//	...
//	err = cluster.WaitReplicated(ctx)
package sandbox

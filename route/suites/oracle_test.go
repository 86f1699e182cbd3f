package suites

import (
	"fmt"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // values of literals, which the parser cannot do without

	"github.com/mysqlrw/mysqlrw/route"
)

// oracle is TiDB's parser. It knows most of MySQL's grammar and some of
// MariaDB's.
type oracle struct {
	parser *parser.Parser
}

func newOracle() *oracle { return &oracle{parser: parser.New()} }

// parse returns the statements that the oracle understands. Where it panics,
// it does not.
func (o *oracle) parse(s *Statement) (nodes []ast.StmtNode, err error) {
	defer func() {
		if r := recover(); r != nil {
			o.parser = parser.New()
			err = fmt.Errorf("parser panics: %v", r)
		}
	}()
	mode := mysql.SQLMode(0)
	for ours, theirs := range map[Mode]mysql.SQLMode{
		ANSIQuotes: mysql.ModeANSIQuotes, NoBackslashEscapes: mysql.ModeNoBackslashEscapes,
		IgnoreSpace: mysql.ModeIgnoreSpace,
	} {
		if s.Mode&ours != 0 {
			mode |= theirs
		}
	}
	o.parser.SetSQLMode(mode)
	nodes, _, err = o.parser.ParseSQL(s.Text, parser.CharsetClient(s.Charset))
	return nodes, err
}

// class is what a statement is by its tree alone: functions, variables and
// tables do not count.
func class(node ast.StmtNode) route.Class {
	switch n := node.(type) {
	case *ast.SelectStmt, *ast.SetOprStmt:
		return classOfQuery(n)
	case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt:
		return route.Write
	case *ast.LoadDataStmt, *ast.ImportIntoStmt:
		return route.Load
	case *ast.ExplainStmt:
		if n.Analyze {
			return class(n.Stmt)
		}
		return route.Explain
	case *ast.ExplainForStmt:
		return route.Explain
	case *ast.ShowStmt:
		if n.Tp == ast.ShowWarnings || n.Tp == ast.ShowErrors {
			return route.Diagnostics
		}
		return route.Show
	case *ast.DoStmt:
		return route.Read
	}
	return classByType(node)
}

// classByType knows the statements that need no second look.
func classByType(node ast.StmtNode) route.Class {
	switch node.(type) {
	case *ast.LockTablesStmt:
		return route.LockTables
	case *ast.UnlockTablesStmt:
		return route.UnlockTables
	case *ast.RepairTableStmt, *ast.OptimizeTableStmt:
		return route.Admin
	case *ast.SetStmt, *ast.SetRoleStmt:
		return route.Set
	case *ast.UseStmt:
		return route.Use
	case *ast.BeginStmt:
		return route.Begin
	case *ast.CommitStmt:
		return route.Commit
	case *ast.RollbackStmt:
		return route.Rollback
	case *ast.SavepointStmt, *ast.ReleaseSavepointStmt:
		return route.Savepoint
	case *ast.PrepareStmt:
		return route.Prepare
	case *ast.ExecuteStmt:
		return route.Execute
	case *ast.DeallocateStmt:
		return route.Deallocate
	case *ast.CallStmt:
		return route.Call
	case *ast.HelpStmt:
		return route.Show
	case *ast.GrantStmt, *ast.GrantRoleStmt, *ast.GrantProxyStmt, *ast.RevokeStmt, *ast.RevokeRoleStmt,
		*ast.CreateUserStmt, *ast.AlterUserStmt, *ast.DropUserStmt, *ast.RenameUserStmt, *ast.SetPwdStmt,
		*ast.SetDefaultRoleStmt, *ast.ProcedureInfo, *ast.DropProcedureStmt:
		return route.DDL
	case *ast.AnalyzeTableStmt, *ast.FlushStmt, *ast.KillStmt, *ast.ShutdownStmt, *ast.RestartStmt, *ast.BinlogStmt,
		*ast.AdminStmt, *ast.AlterInstanceStmt:
		return route.Admin
	}
	if _, isDDL := node.(ast.DDLNode); isDDL {
		return route.DDL
	}
	return route.Unknown
}

// classOfQuery looks for locks and files, in subqueries too.
func classOfQuery(node ast.StmtNode) route.Class {
	v := queryVisitor{class: route.Read}
	node.Accept(&v)
	return v.class
}

type queryVisitor struct{ class route.Class }

func (v *queryVisitor) Enter(n ast.Node) (ast.Node, bool) {
	query, isSelect := n.(*ast.SelectStmt)
	switch {
	case !isSelect:
	case query.SelectIntoOpt != nil:
		v.class = route.Write
	case query.LockInfo != nil && query.LockInfo.LockType != ast.SelectLockNone && v.class == route.Read:
		v.class = route.LockingRead
	}
	return n, false
}

func (v *queryVisitor) Leave(n ast.Node) (ast.Node, bool) { return n, true }

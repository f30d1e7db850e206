import { Command } from 'commander'

import { addAnalyze } from './commands/analyze.js'
import { addCertificateRollback, addCertificateRotate } from './commands/certificate-rotate.js'
import { addCertificateStatus } from './commands/certificate-status.js'
import { addCompletion } from './commands/completion.js'
import { addDashboard } from './commands/dashboard.js'
import { addDemo } from './commands/demo.js'
import { addDiff } from './commands/diff.js'
import { addDriverInspect } from './commands/driver-inspect.js'
import { addDriverList } from './commands/driver-list.js'
import { addDriverMigrate } from './commands/driver-migrate.js'
import { addEnv } from './commands/env.js'
import { addInject } from './commands/inject.js'
import { addInstall } from './commands/install.js'
import { addMachine } from './commands/machine.js'
import { addMesh } from './commands/mesh.js'
import { addMetrics } from './commands/metrics.js'
import { addMigratePolicy } from './commands/migrate-policy.js'
import { addNamespace } from './commands/namespace.js'
import { addPolicyCan } from './commands/policy-can.js'
import { addPolicyCheckConflicts, addPolicyCheckPods } from './commands/policy-check.js'
import { addPolicyShow } from './commands/policy-show.js'
import { addProxyConfig } from './commands/proxy-config.js'
import { addProxyGet } from './commands/proxy-get.js'
import { addProxyList } from './commands/proxy-list.js'
import { addProxyStatus } from './commands/proxy-status.js'
import { addStandaloneRun } from './commands/standalone-run.js'
import { addStandaloneValidate } from './commands/standalone-validate.js'
import { addBugReport } from './commands/support-bug-report.js'
import { addErrorInfo } from './commands/support-error-info.js'
import { addUninstall } from './commands/uninstall.js'
import { addVersion } from './commands/version.js'
import { addVerify } from './commands/verify.js'
import type { CommandHost } from './commands/cli-command.js'
import { addClusterOptions } from './kubernetes/cluster-options.js'
import { plainText } from './output/style.js'

/** The whole command line. Nothing happens before it parses. */
export function buildProgram(host: CommandHost): Command {
  const { context } = host
  const program = new Command('osm')
    .description('osm runs and inspects service meshes')
    .version(context.version)
    .option('--verbose', 'print a stack trace with errors')
    .helpOption('-h, --help', 'show help')
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(plainText(text)),
    })
    .exitOverride()
    .showHelpAfterError('(add --help for usage)')
    .addHelpText(
      'after',
      `
Exit codes: 0 success, 1 a problem was found or the command failed, 2 the command line is invalid.

Try it:
  osm standalone run examples/bookstore/mesh
  osm proxy status
  osm policy can bookthief/bookthief bookstore/bookstore GET /buy-a-book/new`,
    )

  addClusterOptions(program)

  const standalone = program.command('standalone').description('run a mesh on this machine, without Kubernetes')
  addStandaloneRun(standalone, host)
  addStandaloneValidate(standalone, host)

  const proxy = program.command('proxy').description('inspect the proxies of a running mesh')
  addProxyList(proxy, host)
  addProxyStatus(proxy, host)
  addProxyConfig(proxy, host)
  addProxyGet(proxy, host)

  const policy = program.command('policy').description('query policies')
  addPolicyCan(policy, host)
  addPolicyShow(policy, host)
  addPolicyCheckPods(policy, host)
  addPolicyCheckConflicts(policy, host)

  const migrate = program.command('migrate').description('translate traffic policies between SMI and the Gateway API')
  addMigratePolicy(migrate, host)

  const driver = program.command('driver').description('inspect sidecar drivers, and migrate between them')
  addDriverList(driver, host)
  addDriverInspect(driver, host)
  addDriverMigrate(driver, host)

  const certificate = program
    .command('certificate')
    .description('inspect and change the certificates of a running mesh')
  addCertificateStatus(certificate, host)
  addCertificateRotate(certificate, host)
  addCertificateRollback(certificate, host)

  const support = program.command('support').description('explain error codes and collect bug reports')
  addErrorInfo(support, host)
  addBugReport(support, host)

  addInstall(program, host)
  addUninstall(program, host)
  addMesh(program, host)
  addMachine(program, host)
  addVerify(program, host)
  addAnalyze(program, host)
  addDiff(program, host)
  addDashboard(program, host)
  addNamespace(program, host)
  addMetrics(program, host)
  addInject(program, host)
  addDemo(program, host)
  addVersion(program, host)
  addEnv(program, host)
  addCompletion(program, host)
  return program
}

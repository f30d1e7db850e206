import { works } from './row.mjs'

/** @typedef {import('./row.mjs').Section} Section */

/** @type {Section} */
export const commands = {
  title: 'Commands',
  introduction: 'Commands of `osm`. See [the command line](cli.md) for all commands, including new ones.',
  rows: [
    works('osm install', 'e2e/api/cli-install.test.ts', {
      note: 'runs the local helm, 3.14 or newer',
      word: 'osm install',
    }),
    works('osm uninstall mesh', 'e2e/api/cli-install.test.ts', {
      note: 'requires `--force` without a terminal; `-a` keeps objects that a remaining mesh needs',
      word: "'uninstall', 'mesh'",
    }),
    works('osm mesh {list,upgrade}', 'e2e/api/cli-install.test.ts', {
      note: '`list` does not use a local port; `upgrade` keeps the name of the mesh',
      word: "'mesh', 'upgrade'",
    }),
    works('osm env', 'packages/cli/src/commands/env.test.ts'),
    works('osm namespace {add,remove,ignore,list}', 'e2e/api/cli-namespaces.test.ts', { word: 'osm namespace' }),
    works('osm metrics {enable,disable}', 'e2e/api/cli-namespaces.test.ts', { word: 'osm metrics' }),
    works('osm proxy get', ['packages/cli/src/run-cli.test.ts', 'e2e/api/cli-verify.test.ts'], {
      note: 'for a mesh on this machine, or a pod; does not use a local port',
      word: 'osm proxy',
    }),
    works('osm policy check-pods', 'e2e/api/cli-policy.test.ts', {
      word: 'check-pods',
      note: 'also shows the allowed requests of each port',
    }),
    works('osm policy check-conflicts', 'e2e/api/cli-policy.test.ts', { word: 'check-conflicts' }),
    works('osm support bug-report', 'e2e/api/cli-policy.test.ts', {
      word: 'bug-report',
      note: 'archives are tar, tar.gz and tgz; kubectl is not required, and logs of applications are not collected',
    }),
    works('osm support error-info', 'packages/cli/src/commands/support-error-info.test.ts', {
      note: 'for [codes of osm-ts](errors.md), which differ from those of OSM',
    }),
    works('osm verify {connectivity,ingress,control-plane-health}', 'e2e/api/cli-verify.test.ts', {
      note: 'computes policies from the objects of the cluster. With the debug server enabled, it queries the applied policies of the controller. Works for every sidecar class',
      word: 'osm verify',
    }),
    works('osm version', 'e2e/api/cli-install.test.ts', {
      note: 'connects to the cluster only and does not check for newer releases',
      word: "osm('version')",
    }),
    works('osm dashboard', 'e2e/ui/dashboard.test.ts', {
      note: 'serves [its own dashboard](../guides/dashboard.md). `--grafana` forwards to the Grafana of the chart; --remote-port is not needed',
      word: 'osm dashboard',
    }),
  ],
}

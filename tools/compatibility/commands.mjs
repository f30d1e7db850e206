import { works } from './row.mjs'

/** @typedef {import('./row.mjs').Section} Section */

/** @type {Section} */
export const commands = {
  title: 'Commands',
  introduction: 'Of `osm`. [The command line](cli.md) has those that are there, the new ones too.',
  rows: [
    works('osm install', 'e2e/api/cli-install.test.ts', {
      note: 'runs the helm of your machine, 3.14 or newer',
      word: 'osm install',
    }),
    works('osm uninstall mesh', 'e2e/api/cli-install.test.ts', {
      note: 'without a terminal it takes `--force`; `-a` leaves what a mesh needs that still stands',
      word: "'uninstall', 'mesh'",
    }),
    works('osm mesh {list,upgrade}', 'e2e/api/cli-install.test.ts', {
      note: 'no local port is taken for `list`; `upgrade` keeps the name of the mesh',
      word: "'mesh', 'upgrade'",
    }),
    works('osm env', 'packages/cli/src/commands/env.test.ts'),
    works('osm namespace {add,remove,ignore,list}', 'e2e/api/cli-namespaces.test.ts', { word: 'osm namespace' }),
    works('osm metrics {enable,disable}', 'e2e/api/cli-namespaces.test.ts', { word: 'osm metrics' }),
    works('osm proxy get', ['packages/cli/src/run-cli.test.ts', 'e2e/api/cli-verify.test.ts'], {
      note: 'of a mesh on this machine, or of a pod; no local port is taken for it',
      word: 'osm proxy',
    }),
    works('osm policy check-pods', 'e2e/api/cli-policy.test.ts', {
      word: 'check-pods',
      note: 'tells what may be asked at which port as well',
    }),
    works('osm policy check-conflicts', 'e2e/api/cli-policy.test.ts', { word: 'check-conflicts' }),
    works('osm support bug-report', 'e2e/api/cli-policy.test.ts', {
      word: 'bug-report',
      note: 'archives are tar, tar.gz and tgz; neither kubectl nor logs of applications are needed',
    }),
    works('osm support error-info', 'packages/cli/src/commands/support-error-info.test.ts', {
      note: 'for [codes of its own](errors.md); those of OSM name other things',
    }),
    works('osm verify {connectivity,ingress,control-plane-health}', 'e2e/api/cli-verify.test.ts', {
      note: 'computes policies from the objects of the cluster; with the debug server on, asks the controller what proxies have applied. Works for every sidecar class',
      word: 'osm verify',
    }),
    works('osm version', 'e2e/api/cli-install.test.ts', {
      note: 'connects to the cluster only: it does not check for newer releases',
      word: "osm('version')",
    }),
    works('osm dashboard', 'e2e/ui/dashboard.test.ts', {
      note: 'serves [a page of its own](../guides/dashboard.md): `--grafana` forwards to the Grafana of the chart, whose port is known, so there is no --remote-port',
      word: 'osm dashboard',
    }),
  ],
}

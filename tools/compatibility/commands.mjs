import { missing, works } from './row.mjs'

/** @typedef {import('./row.mjs').Section} Section */

/** @type {Section} */
export const commands = {
  title: 'Commands',
  introduction: 'Of `osm`. [The command line](cli.md) has those that are there, the new ones too.',
  rows: [
    missing('osm install', 'cluster', 'use `helm install`; see [installing](../guides/install.md)'),
    missing('osm uninstall mesh', 'cluster', 'use `helm uninstall`'),
    missing('osm mesh {list,upgrade}', 'cluster', 'use `helm list` and `helm upgrade`'),
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
    missing('osm support bug-report', 'open'),
    works('osm support error-info', 'packages/cli/src/commands/support-error-info.test.ts', {
      note: 'for [codes of its own](errors.md); those of OSM name other things',
    }),
    works('osm verify {connectivity,ingress,control-plane-health}', 'e2e/api/cli-verify.test.ts', {
      note: 'asks the controller what proxies were told and have applied, so that it works for every sidecar class',
      word: 'osm verify',
    }),
    missing('osm version', 'cluster', '`osm --version` tells that of the program'),
    missing('osm dashboard', 'open', 'the chart brings no Grafana'),
  ],
}

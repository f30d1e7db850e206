import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../lib/paths.mjs'
import { temporaryFolders } from '../testing/temporary-folder.js'
import { type HostedSettings, hostedJobs } from './hosted-jobs.mjs'
import { parseTierPlan } from './tiers.mjs'
import { readWorkflow, runSteps } from './workflow-steps.mjs'

const folder = temporaryFolders()
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
const { version } = JSON.parse(read('packages/controller/package.json')) as { version: string }
const { containers, hosts, clusters } = hostedJobs(
  parseTierPlan(read('.ci/tiers.json')),
  JSON.parse(read('tools/ci/hosted.json')) as HostedSettings,
)

const host = {
  GITHUB_ACTOR: 'someone',
  GITHUB_REF_NAME: `v${version}`,
  GITHUB_REPOSITORY: 'owner/mesh',
  GITHUB_SERVER_URL: 'https://github.com',
  GITHUB_WORKFLOW_REF: 'owner/mesh/.github/workflows/release.yaml@refs/tags/v1',
  GITHUB_WORKSPACE: '/work',
}

/** Values of expressions in scripts and environments, for one job of each matrix. */
const expressions = (job: (typeof containers)[number] | undefined) => ({
  'github.repository_owner': 'owner',
  'github.token': 'a-token',
  'secrets.NPM_TOKEN': 'npm-token',
  'needs.plan.outputs.kind': 'v0.33.0',
  "join(needs.*.result, ' ')": 'success success',
  'matrix.command': job?.command ?? 'npm run check',
  'matrix.options': job?.options ?? '',
})

/** A checkout with what a release has made of it. */
function checkout(): string {
  const image = 'ghcr.io/owner/osm-ts/osm-controller@sha256:123'
  const made = {
    'dist/release/release.json': JSON.stringify({ images: { 'osm-controller': { reference: image } } }),
    'dist/release/sbom/osm-controller.amd64.cdx.json': '{}',
    'dist/release/charts/osm-1.tgz': '',
    'dist/release/packages/cli.tgz': '',
    'bench/report.json': '{}',
    'CHANGELOG.md': '# Changelog\n\n## 1.0.0\n\nNew.\n\n## 0.9.0\n\nOld.\n',
  }
  const path = folder({})
  for (const name of ['tools', 'packages', '.ci', 'package.json']) symlinkSync(join(root, name), join(path, name))
  for (const [name, text] of Object.entries(made)) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  mkdirSync(join(path, 'reports'))
  return path
}

const workflows = readdirSync(join(root, '.github/workflows')).map((name) => join('.github/workflows', name))

describe('the steps of workflows', () => {
  it.each(workflows)('%s: each runs to its end, and calls scripts that package.json has', async (path) => {
    const { env = {}, jobs } = await readWorkflow(path)
    const matrices = { container: containers[0], host: hosts[0], cluster: clusters[0] }
    for (const [name, job] of Object.entries(jobs)) {
      const values = expressions(matrices[name as keyof typeof matrices])
      const ran = await runSteps(job, checkout(), { ...host, ...env }, values)
      for (const { script, code, output, calls } of ran) {
        expect({ script, code, output: code === 0 ? '' : output }).toEqual({ script, code: 0, output: '' })
        for (const call of calls) {
          const task = /^npm run (?:--silent )?(\S+)/.exec(call)?.[1]
          if (task !== undefined) expect(Object.keys(scripts)).toContain(task)
        }
      }
    }
  })

  it('of a release publish, sign and verify images and chart by digest, and publish packages with provenance', async () => {
    const { env = {}, jobs } = await readWorkflow('.github/workflows/release.yaml')
    const path = checkout()
    const ran = await runSteps(jobs['release'] ?? {}, path, { ...host, ...env }, expressions(undefined))
    const image = 'ghcr.io/owner/osm-ts/osm-controller'
    const chart = 'ghcr.io/owner/charts/osm@sha256:abc'
    const identity =
      '--certificate-identity https://github.com/owner/mesh/.github/workflows/release.yaml@refs/tags/v1 ' +
      '--certificate-oidc-issuer https://token.actions.githubusercontent.com'
    const bill = 'dist/release/sbom/osm-controller.amd64.cdx.json'
    expect(ran.flatMap(({ calls }) => calls).filter((call) => !/^(apt-get|git|go) /.test(call))).toEqual([
      'npm run --silent release -- --dry-run',
      'npm run --silent release -- --prepare dist/release --registry ghcr.io/owner/osm-ts --repository https://github.com/owner/mesh',
      ...['skopeo login', 'cosign login', 'helm registry login'].map(
        (login) => `${login} ghcr.io --username someone --password-stdin`,
      ),
      `skopeo copy --all --preserve-digests oci-archive:dist/release/images/osm-controller.tar docker://${image}:${version}`,
      `cosign sign --yes --recursive ${image}@sha256:123`,
      `cosign attest --yes --type cyclonedx --predicate ${bill} ${image}@sha256:123`,
      'helm push dist/release/charts/osm-1.tgz oci://ghcr.io/owner/charts',
      `cosign sign --yes ${chart}`,
      `cosign verify ${identity} ${image}@sha256:123`,
      `cosign verify-attestation ${identity} --type cyclonedx ${image}@sha256:123`,
      `cosign verify ${identity} ${chart}`,
      'npm publish dist/release/packages/cli.tgz --access public --provenance',
      `gh release create v${version} --verify-tag --notes-file notes.md dist/release/release.json ${bill} dist/release/charts/osm-1.tgz`,
    ])
    expect(readFileSync(join(path, 'notes.md'), 'utf8')).toBe('## 1.0.0\n\nNew.\n\n')
  })

  it('of a release refuse a tag that is not the version of the packages', async () => {
    const { env = {}, jobs } = await readWorkflow('.github/workflows/release.yaml')
    const given = { ...host, ...env, GITHUB_REF_NAME: 'v0.0.1-other' }
    const ran = await runSteps(jobs['release'] ?? {}, checkout(), given, expressions(undefined))
    expect(ran.at(-1)).toMatchObject({ code: 1, script: expect.stringContaining('GITHUB_REF_NAME') })
  })
})

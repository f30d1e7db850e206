import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { GeneratedMesh, manifests } from '@osm-ts/core/testing'
import { stringify } from 'yaml'

import { type Summary, summarize } from './statistics.js'

/** `osm analyze` of a folder, from its start to its end. */
export interface Analyze {
  readonly objects: number
  /** Milliseconds. */
  readonly wall: Summary
  /** Milliseconds of processors, which other work on the machine touches less. */
  readonly processor: Summary
}

/** Of each service: its account, itself, its routes, who may call it, and its Deployment. */
const OBJECTS_OF_SERVICE = 5
/** Has a process say at its end what it took. */
const TELL_USAGE =
  'data:text/javascript,process.on("exit",()=>{const{userCPUTime:u,systemCPUTime:s}=process.resourceUsage();process.stderr.write(`\\nmicroseconds ${u+s}`)})'

/** Analyzes a folder in which nothing is wrong: each service has a file, and is called by another one. */
export async function measureAnalyze(options: {
  readonly program: string
  readonly objects: number
  readonly rounds: number
}): Promise<Analyze> {
  const run = promisify(execFile)
  const folder = mkdtempSync(join(tmpdir(), 'osm-bench-analyze-'))
  const mesh = new GeneratedMesh({
    services: options.objects / OBJECTS_OF_SERVICE,
    namespaces: 50,
    calls: 1,
    serviceName: (index) => `app-${index}`,
    namespaceName: (index) => `namespace-${index}`,
  })
  const [wall, processor]: [number[], number[]] = [[], []]
  try {
    for (let index = 0; index < mesh.shape.services; index += 1)
      writeFileSync(join(folder, `service-${index}.yaml`), serviceFile(mesh, index))
    // The first reads the program from the disk.
    for (let n = 0; n <= options.rounds; n += 1) {
      const start = performance.now()
      const { stdout, stderr } = await run(process.execPath, [
        '--import',
        TELL_USAGE,
        options.program,
        'analyze',
        folder,
      ])
      if (!stdout.includes('0 errors, 0 warnings'))
        throw new Error(`nothing is wrong in the folder, and osm says:\n${stdout}`)
      if (n === 0) continue
      wall.push(performance.now() - start)
      processor.push(Number(/microseconds (\d+)/.exec(stderr)?.[1]) / 1000)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
  return { objects: options.objects, wall: summarize(wall), processor: summarize(processor) }
}

function serviceFile(mesh: GeneratedMesh, index: number): string {
  const place = mesh.place(index)
  const labels = { app: place.name }
  const container = {
    name: 'app',
    image: 'app',
    ports: [{ name: 'http', containerPort: 8080 }],
    readinessProbe: { httpGet: { path: '/', port: 8080 } },
  }
  const objects = [
    manifests.account(place),
    manifests.service(place, { targetPort: 'http' }),
    manifests.routeGroup(place, [{ name: 'all', pathRegex: `/${place.name}/.*`, methods: ['GET'] }]),
    manifests.trafficTarget(place, mesh.callersOf(index), { name: place.name, matches: ['all'] }),
    manifests.manifest('apps/v1', 'Deployment', place, {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { serviceAccountName: place.name, containers: [container] } },
    }),
  ]
  // As people write them: YAML, which takes longer to read than JSON.
  return objects.map((object) => stringify(object)).join('---\n')
}

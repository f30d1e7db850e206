import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { assembleImages, imageNames, imageSettings, programsOf } from '../images/assemble.mjs'
import { bundlePrograms } from '../lib/bundle.mjs'
import { root } from '../lib/paths.mjs'
import { timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'

const usage = `Usage: npm run images -- [options] [image ...]

Assembles the images of the control plane without a container engine, from the Node.js, the shared libraries and, for the init
container, the Debian packages of this machine. Equal inputs give equal bytes. Without names all images are made:
${imageNames.map((name) => `  ${name}\n`).join('')}
Options:
  --registry <name>   registry and path before the names (localhost/osm-ts)
  --tag <tag>         tag of the images (the version of the packages)
  --folder <folder>   where the archives go (dist/images)
  -o json             print JSON
  --help              print this
`

/**
 * Assembles images; prints name and digest of each.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args) {
  const { values, positionals } = readArguments(args)
  if (values.help) {
    process.stdout.write(usage)
    return 0
  }
  const unknown = positionals.find((name) => !imageNames.includes(name))
  if (unknown !== undefined) throw new SetUpError(`no image "${unknown}"; there are ${imageNames.join(', ')}`)
  const output = values.output ?? 'text'
  if (output !== 'json' && output !== 'text') throw new SetUpError(`-o ${output}: expected json or text`)

  const names = positionals.length > 0 ? positionals : imageNames
  await timed('Bundling the programs', () => bundlePrograms(programsOf(names)))
  const images = []
  for await (const image of assembleImages(names, imageSettings(values), resolve(values.folder))) {
    images.push(image)
    if (output === 'text') {
      process.stdout.write(`${image.name}@${image.digest}  ${(image.size / 1e6).toFixed(1)} MB  ${image.path}\n`)
    }
  }
  if (output === 'json') process.stdout.write(`${JSON.stringify({ images }, null, 2)}\n`)
  return 0
}

/** @param {readonly string[]} args */
function readArguments(args) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        registry: { type: 'string', default: 'localhost/osm-ts' },
        tag: { type: 'string' },
        folder: { type: 'string', default: join(root, 'dist/images') },
        output: { type: 'string', short: 'o' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    throw new SetUpError(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
  }
}

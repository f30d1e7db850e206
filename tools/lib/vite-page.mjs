/**
 * Has Vite bundle the page of `osm dashboard` into the folder that it is given, and prints the paths of the modules in it as JSON. A process of its own: Vite
 * cannot be loaded by tests that bundle the programs.
 */
import { join } from 'node:path'
import { build } from 'vite'
import { root } from './paths.mjs'

const [folder = '', page = ''] = process.argv.slice(2)

// Names are fixed and nothing is inlined: the server of the page names its files, and its content security policy permits no other.
const made = await build({
  root: join(root, page),
  base: './',
  configFile: false,
  envDir: false,
  publicDir: false,
  logLevel: 'warn',
  build: {
    outDir: join(root, folder),
    emptyOutDir: true,
    target: 'es2022',
    sourcemap: 'hidden',
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        entryFileNames: 'page.js',
        // Vite calls styles after the document.
        assetFileNames: ({ names }) => (names.some((name) => name.endsWith('.css')) ? 'page.css' : '[name][extname]'),
      },
    },
  },
})
if (!('output' in made)) throw new Error('expected one bundle')
const modules = made.output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
process.stdout.write(JSON.stringify(modules))

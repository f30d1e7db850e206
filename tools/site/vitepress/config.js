/** Settings of VitePress. The folder of staged pages has this file, with what was found out about the pages in site.json. */
import { headingSlug } from './heading-slug.mjs'
import site from './site.json' with { type: 'json' }

const description = 'A service mesh control plane whose sidecar is a plug-in'

export default {
  title: 'osm-ts',
  description,
  lang: 'en',
  base: site.base,
  outDir: site.outDir,
  // The pages are written for GitHub as well, whose anchors they use. Raw HTML is text.
  markdown: {
    html: false,
    anchor: { slugify: headingSlug },
    config: (markdown) => {
      const fence = markdown.renderer.rules.fence
      markdown.renderer.rules.fence = (tokens, index, ...rest) =>
        tokens[index].info.trim() === 'mermaid'
          ? `<MermaidDiagram code="${encodeURIComponent(tokens[index].content)}" />`
          : fence(tokens, index, ...rest)
      // Vue reads braces in texts as expressions.
      const text = markdown.renderer.rules.text
      markdown.renderer.rules.text = (...args) => text(...args).replaceAll('{{', '&#123;&#123;')
    },
  },
  themeConfig: {
    nav: [
      { text: 'Guides', link: '/docs/guides/' },
      { text: 'Reference', link: '/docs/reference/' },
      { text: 'Driver contract', link: '/docs/reference/driver-api/index.html', target: '_self' },
      { text: 'Design', link: '/docs/design/' },
    ],
    sidebar: site.sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    ...(site.repository === undefined ? {} : { socialLinks: [{ icon: 'github', link: site.repository }] }),
  },
}

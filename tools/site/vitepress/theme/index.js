import theme from 'vitepress/theme'
import MermaidDiagram from './MermaidDiagram.vue'
import './style.css'

export default {
  extends: theme,
  enhanceApp({ app }) {
    app.component('MermaidDiagram', MermaidDiagram)
  },
}

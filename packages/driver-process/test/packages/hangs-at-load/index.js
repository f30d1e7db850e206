export default () => new Promise(() => {})

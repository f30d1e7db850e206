export default { name: 'Not A Label', contract: { min: 1, max: 1 }, capabilities: {}, configSchema: {} }

// The JupyterLab plugin for what outputs cannot do by themselves in light and in dark themes. It is a style sheet, and
// needs nothing of JupyterLab but the page.

export const ID = 'slangnb:theme';

// Outputs of a notebook that is not trusted have lost their own styles, which bring out the dark picture of a view.
// slangnb/views/still.py has the same rule; a test keeps them equal.
const DARK =
  '@media screen{[data-jp-theme-light="false"] ' +
  '.slangnb-still .slangnb-dark{display:block;position:absolute;inset:0;width:100%;height:100%}}';

// Code in errors comes in colours of terminals, which are the same in every theme: between the pale red and the dark red
// behind errors, no colour has more than 3.3 to 1 to both. Here are those of slangnb/notebook/excerpts.py, for the light
// theme and for the dark one: at least 4.5 to 1.
const COLOURS = [
  ['95,135,0', '#426000', '#a5cf45'],
  ['0,135,175', '#005f87', '#63c5ea'],
  ['175,95,175', '#8a2f8a', '#e3a5e3'],
  ['128,128,128', '#5f5f5f', '#b5b5b5']
];

function excerpts() {
  const kinds = ['error', 'stderr'].map(kind => `[data-mime-type="application/vnd.jupyter.${kind}"]`);
  const rule = (light, rgb, colour) =>
    `[data-jp-theme-light="${light}"] :is(${kinds}) span[style*="rgb(${rgb})"]{color:${colour} !important}`;
  return COLOURS.flatMap(([rgb, light, dark]) => [rule(true, rgb, light), rule(false, rgb, dark)]);
}

export function makePlugin() {
  let style = null;
  return {
    id: ID,
    description: 'Views before their notebook is trusted, and code in errors, in the colours of the theme.',
    autoStart: true,

    activate() {
      style = document.createElement('style');
      style.textContent = [DARK, ...excerpts()].join('\n');
      document.head.append(style);
    },

    deactivate() {
      style?.remove();
      style = null;
    }
  };
}

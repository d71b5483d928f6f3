import type { Measurement } from './measurement.ts';

const width = 300;
const height = 200;
const margin = { left: 44, top: 40, bottom: 44, right: 30 };
/** Upper ends of an axis that its quarters divide into round numbers. */
const axisEnds = [4, 8, 20, 40, 80, 200, 400, 800, 2_000];
const colours = ['#1b6ca8', '#c0392b', '#2e8b57', '#8e44ad', '#b9770e'];
const panels = [
  { title: 'Store requests', of: ({ requests }: Measurement) => requests },
  { title: 'Read units', of: ({ units }: Measurement) => units },
  { title: 'Milliseconds, median', of: ({ milliseconds }: Measurement) => milliseconds },
];

/** An SVG chart: what a search costs at its dearest page, by the number of events, a line for each filter. */
export function chart(measurements: Measurement[]): string {
  const filters = [...new Set(measurements.map(({ filter }) => filter))];
  const sizes = [...new Set(measurements.map(({ events }) => events))];
  const panelWidth = margin.left + width + margin.right;
  const totalHeight = margin.top + height + margin.bottom + 30;
  const drawn = panels.map(({ title, of }, place) => {
    const highest = Math.max(...measurements.map(of));
    const most = axisEnds.find((end) => end > highest) ?? highest;
    const x = (events: number) => (sizes.indexOf(events) / (sizes.length - 1)) * width;
    const y = (value: number) => height - (value / most) * height;
    const dearest = (filter: string, events: number) =>
      Math.max(
        ...measurements.filter((one) => one.filter === filter && one.events === events).map((one) => of(one)),
      );
    // Lines that lie on each other are moved apart by a pixel and a half, so that all can be seen.
    const lines = filters.map((filter, number) => {
      const points = sizes.map(
        (events) => `${x(events)},${(y(dearest(filter, events)) + number * 1.5).toFixed(1)}`,
      );
      return `<polyline points="${points.join(' ')}" fill="none" stroke="${colours[number]}" stroke-width="1.5"/>`;
    });
    const ticks = [0, 1, 2, 3, 4]
      .map((quarter) => (quarter * most) / 4)
      .map(
        (value) =>
          `<text x="-6" y="${y(value) + 4}" text-anchor="end">${value}</text>` +
          `<line x1="0" x2="${width}" y1="${y(value)}" y2="${y(value)}" stroke="#ddd"/>`,
      );
    const labels = sizes.map(
      (events) => `<text x="${x(events)}" y="${height + 18}" text-anchor="middle">${grouped(events)}</text>`,
    );
    const title_ = `<text x="0" y="-14" font-weight="bold">${title}</text>`;
    return `<g transform="translate(${place * panelWidth + margin.left},${margin.top})">${[title_, ...ticks, ...labels, ...lines].join('')}</g>`;
  });
  const legend = filters.map(
    (filter, number) =>
      `<text x="${margin.left + number * 190}" y="${totalHeight - 12}" fill="${colours[number]}">— ${filter}</text>`,
  );
  const size = `width="${panelWidth * panels.length}" height="${totalHeight}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="11" role="img" aria-label="Cost of a search by the number of events"><rect width="100%" height="100%" fill="white"/>${[...drawn, ...legend].join('\n')}</svg>\n`;
}

const grouped = (events: number): string => events.toLocaleString('en');

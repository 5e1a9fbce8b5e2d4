package lochan.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.spark.SparkContext;

/**
 * The lake's own code, in a Python process beside the driver: it answers questions about tables and plans scans.
 *
 * <p>One request and one answer at a time, each a line of JSON. The process ends when its input does, so it never
 * outlives the driver. A process that died is started again by the next request.
 */
final class Planner {
  static final ObjectMapper JSON = new ObjectMapper();
  private static final String CATALOG = "lochan.spark.catalog_server";

  private final Map<String, String> options;
  private final String module;
  private Process process;
  private BufferedWriter requests;
  private BufferedReader answers;

  Planner(Map<String, String> options) {
    this(options, CATALOG);
  }

  Planner(Map<String, String> options, String module) {
    this.options = Map.copyOf(options);
    this.module = module;
  }

  static ObjectNode request(String verb) {
    return JSON.createObjectNode().put("verb", verb);
  }

  /** Throws LochanException with the lake's own words for whatever it refuses. */
  synchronized JsonNode ask(ObjectNode request) {
    JsonNode answer;
    try {
      answer = exchange(request);
    } catch (IOException first) {
      stop();
      throw LochanException.of("UNAVAILABLE", "The planner of the lake ended: " + first.getMessage(), first);
    }
    JsonNode error = answer.get("error");
    if (error != null) {
      throw LochanException.of(error.get("kind").asText(), error.get("message").asText(), null);
    }
    return answer;
  }

  private JsonNode exchange(ObjectNode request) throws IOException {
    if (process == null || !process.isAlive()) {
      start();
    }
    requests.write(JSON.writeValueAsString(request));
    requests.newLine();
    requests.flush();
    String line = answers.readLine();
    if (line == null) {
      throw new IOException("it did not answer; see the driver's standard error");
    }
    return JSON.readTree(line);
  }

  private void start() throws IOException {
    ProcessBuilder builder = new ProcessBuilder(python(), "-m", module);
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    process = builder.start();
    requests = new BufferedWriter(new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
    answers = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    // By its input, and not by its arguments or environment: those can be read by every user of the machine.
    ObjectNode hello = request("open");
    ObjectNode given = hello.putObject("options");
    options.forEach(given::put);
    requests.write(JSON.writeValueAsString(hello));
    requests.newLine();
  }

  private void stop() {
    if (process != null) {
      process.destroy();
      process = null;
    }
  }

  /** The driver's Python, as PySpark chooses it. */
  private String python() {
    var conf = SparkContext.getOrCreate().conf();
    for (String name : new String[] {"spark.pyspark.driver.python", "spark.pyspark.python"}) {
      if (conf.contains(name)) {
        return conf.get(name);
      }
    }
    for (String name : new String[] {"PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON"}) {
      String found = System.getenv(name);
      if (found != null && !found.isEmpty()) {
        return found;
      }
    }
    return "python3";
  }
}
